-- The first waiting rows of ordering keys, due or not. Dead letters of some channels halt their keys. Names are given as bytes:
-- not all are UTF-8.
FROM json_each(?2) key CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_ordered
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NOT NULL
      AND d.channel = CAST(unhex(key.value ->> 0) AS TEXT) AND d.ordering_key = CAST(unhex(key.value ->> 1) AS TEXT)
    ORDER BY d.id LIMIT ?3)
WHERE o.channel NOT IN (SELECT value FROM json_each(?4))
   OR NOT EXISTS (
       SELECT 1 FROM outbox dead INDEXED BY outbox_halting
       WHERE dead.shard = o.shard AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
         AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS NOT 'cancelled')
