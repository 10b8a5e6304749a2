-- The ordering key with which the last look at so many dead letters ended: there the next one begins. None where there were fewer.
SELECT ordering_key FROM outbox INDEXED BY outbox_halting
WHERE shard = ?1 AND channel = ?2 AND ordering_key >= coalesce(?3, '') AND ordering_key IS NOT ?3
  AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS NOT 'cancelled'
ORDER BY ordering_key, id LIMIT 1 OFFSET ?4
