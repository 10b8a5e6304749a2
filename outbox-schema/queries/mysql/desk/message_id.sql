SELECT id
FROM outbox WHERE idempotency_key = ?
