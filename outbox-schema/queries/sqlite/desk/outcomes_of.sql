-- The messages whose keys begin so: those that tell of the outcomes of one message.
SELECT id, channel, status, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'), CAST(created_at AS TEXT)) AS at
FROM outbox WHERE idempotency_key >= ?1 || ':' AND idempotency_key < ?1 || ';' ORDER BY idempotency_key LIMIT ?2
