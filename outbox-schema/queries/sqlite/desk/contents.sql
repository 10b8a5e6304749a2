-- What an edit may change of the asked. Their rows are locked by now.
SELECT id, idempotency_key, channel, target, payload AS payload, headers AS headers, revision
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id
