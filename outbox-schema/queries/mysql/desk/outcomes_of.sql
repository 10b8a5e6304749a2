-- The messages whose keys begin so: those that tell of the outcomes of one message. (A key of an outcome holds no wildcard.)
-- The statement is sent as text: its texts all have the same collation, whatever that of the connection.
SELECT id, channel, status, DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS at
FROM outbox FORCE INDEX (outbox_idempotency_key)
WHERE idempotency_key LIKE CONCAT(?1, _utf8mb4 ':%') LIMIT ?2
