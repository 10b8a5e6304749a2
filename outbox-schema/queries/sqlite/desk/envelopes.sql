-- What an edit of many may change of the asked, which is not their payload. Their rows are locked by now.
SELECT id, idempotency_key, channel, target, headers AS headers, revision
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id
