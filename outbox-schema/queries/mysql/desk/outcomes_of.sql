-- The messages whose keys begin so: those that tell of the outcomes of one message. (A key of an outcome holds no wildcard.)
SELECT id, channel, status, DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at
FROM outbox FORCE INDEX (outbox_idempotency_key)
WHERE idempotency_key LIKE CONCAT(?1, ':%') LIMIT ?2
