SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts, o.last_error,
       o.last_status_code, o.fingerprint, o.ordering_key,
       DATE_FORMAT(o.created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(o.dead_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS dead_at,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', o.dead_at) AS dead_at_us
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'DEAD'
ORDER BY o.dead_at DESC, o.id DESC
