-- By the keys alone: equal ones of all channels lie together. In the order of the index, and not kept, as claim_heads.sql.
SELECT '' AS channel, ordering_key FROM outbox FORCE INDEX (outbox_ordered)
WHERE status = 'PENDING' COLLATE utf8mb4_bin AND shard = ? AND ordering_key >= ?
GROUP BY status, shard, ordering_key LIMIT 1 OFFSET ?
