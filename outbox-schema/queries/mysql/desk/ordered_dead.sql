-- The first dead letter of an ordering key before one of its messages: what such a key halts at, where its channel says
-- so. One that was cancelled halts nothing.
SELECT id, dead_reason FROM outbox
WHERE shard = ? AND channel = ? AND ordering_key = ? AND status = 'DEAD' AND id < ?
  AND NOT (dead_reason <=> 'cancelled')
ORDER BY id LIMIT 1
