-- What waits, as long as that is little: the two indexes of the poll hold nothing else. The order makes it use them.
(SELECT id FROM outbox WHERE status = 'PENDING' AND ordering_key IS NULL
 ORDER BY shard, priority, available_at, id LIMIT $1)
UNION ALL
(SELECT id FROM outbox WHERE status = 'PENDING' AND ordering_key IS NOT NULL
 ORDER BY shard, hashtextextended(ordering_key, hashtextextended(channel, 0)), id LIMIT $1)
LIMIT $1
