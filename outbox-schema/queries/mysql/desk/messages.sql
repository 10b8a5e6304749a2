-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority, o.status,
       o.dead_reason, o.attempts, DATE_FORMAT(o.available_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS available_at,
       DATE_FORMAT(o.deferred_from, '%Y-%m-%dT%H:%i:%s.%fZ') AS deferred_from,
       DATE_FORMAT(o.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS finished_at, o.last_error, o.last_status_code, o.replay_of
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o ON o.id = asked.id
WHERE (?2 IS NULL OR o.status = ?2) AND (?3 IS NULL OR o.channel = ?3) AND (?4 IS NULL OR o.destination = ?4)
  AND (?5 IS NULL OR o.ordering_key = ?5) AND (?6 IS NULL OR o.priority = ?6)
  AND (?7 IS NULL OR o.created_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?7 MICROSECOND)
  AND (?8 IS NULL OR o.created_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?8 MICROSECOND)
ORDER BY o.id DESC LIMIT ?9
