-- The first dead letter of an ordering key before one of its messages: what such a key halts at, where its channel says
-- so. One that was cancelled halts nothing.
SELECT id, dead_reason FROM outbox
WHERE shard = $1 AND channel = $2 AND ordering_key = $3 AND status = 'DEAD' AND id < $4
  AND dead_reason IS DISTINCT FROM 'cancelled'
ORDER BY id LIMIT 1
