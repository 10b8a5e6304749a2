-- The ordering key with which the last look at so many dead letters ended: there the next one begins. None where there were fewer.
SELECT ordering_key FROM outbox FORCE INDEX (outbox_ordered)
WHERE status = 'DEAD' AND shard = ?1 AND ordering_key >= COALESCE(?3, _utf8mb4 '') AND NOT (ordering_key <=> ?3)
ORDER BY ordering_key LIMIT 1 OFFSET ?4
