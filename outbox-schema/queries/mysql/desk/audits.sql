-- Of the newest entries below an id, those that are meant, the newest first. Entries of one message of an operation are left out
-- unless the message is named. No entry is read that is too far down: a subquery of those to look at would be copied first.
SELECT a.id, DATE_FORMAT(a.at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, CAST(a.details AS CHAR) AS details, a.part_of, a.message_id
FROM outbox_audit a FORCE INDEX (PRIMARY)
LEFT JOIN outbox_audit whole FORCE INDEX (PRIMARY) ON whole.id = a.part_of
WHERE (?1 IS NULL OR a.message_id = ?1) AND (?2 IS NULL OR a.id < ?2)
  AND a.id > coalesce((SELECT l.id FROM outbox_audit l FORCE INDEX (PRIMARY)
                       WHERE (?1 IS NULL OR l.message_id = ?1) AND (?2 IS NULL OR l.id < ?2)
                       ORDER BY l.id DESC LIMIT 1 OFFSET ?3), 0)
  AND (?1 IS NOT NULL OR a.part_of IS NULL)
  AND (?4 IS NULL OR a.at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 MICROSECOND)
  AND (?5 IS NULL OR a.at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?5 MICROSECOND)
  AND (?6 IS NULL OR LEFT(a.who, CHAR_LENGTH(?6)) = ?6) AND (?7 IS NULL OR a.action = ?7)
ORDER BY a.id DESC LIMIT ?8
