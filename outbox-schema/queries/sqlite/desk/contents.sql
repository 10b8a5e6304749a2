-- What an edit may change of the asked. Their rows are locked by now. No payload is read that is larger than one may be.
SELECT id, idempotency_key, channel, target, CASE WHEN payload_bytes <= ?2 THEN payload END AS payload, headers, revision
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id
