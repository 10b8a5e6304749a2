-- The messages whose keys begin so: those that tell of the outcomes of one message. The order makes it use the index.
SELECT id, channel, status,
       coalesce(to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(created_at) #>> '{}') AS at
FROM outbox WHERE idempotency_key >= $1 || ':' AND idempotency_key < $1 || ';' ORDER BY idempotency_key LIMIT $2
