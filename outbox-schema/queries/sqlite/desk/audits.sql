-- Of the newest entries below an id, those that are meant, the newest first. Entries of one message of an operation are left out
-- unless the message is named.
SELECT a.id, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000.0, 'unixepoch'), CAST(a.at AS TEXT)) AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details AS details, a.part_of, a.message_id
FROM (SELECT * FROM outbox_audit l WHERE (?1 IS NULL OR l.message_id = ?1) AND (?2 IS NULL OR l.id < ?2)
      ORDER BY l.id DESC LIMIT ?3) a
LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE (?1 IS NOT NULL OR a.part_of IS NULL) AND (?4 IS NULL OR a.at >= ?4 / 1000) AND (?5 IS NULL OR a.at <= ?5 / 1000)
  AND (?6 IS NULL OR substr(a.who, 1, length(?6)) = ?6) AND (?7 IS NULL OR a.action = ?7)
ORDER BY a.id DESC LIMIT ?8
