-- What has a key that begins so, as long as it is little. The order makes it use the index.
SELECT id FROM outbox WHERE idempotency_key >= $1 AND idempotency_key < $2 ORDER BY idempotency_key LIMIT $3
