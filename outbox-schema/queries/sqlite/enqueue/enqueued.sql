SELECT id, idempotency_key FROM outbox WHERE idempotency_key IN (SELECT value FROM json_each(?1))
