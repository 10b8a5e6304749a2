-- Of the newest rows, those that were never tried and are the heads of their ordering keys. Where a claim does not look at all keys,
-- it looks at these too: whoever writes for a new key does not wait until all others had their turns.
SELECT o.id
FROM (SELECT id FROM outbox ORDER BY id DESC LIMIT 512) newest
CROSS JOIN outbox o ON o.id = newest.id
WHERE o.status = 'PENDING' AND o.shard = ?1 AND o.ordering_key IS NOT NULL AND o.first_attempt_at IS NULL
  AND NOT EXISTS (
      SELECT 1 FROM outbox earlier INDEXED BY outbox_ordered
      WHERE earlier.status = 'PENDING' AND earlier.shard = o.shard AND earlier.ordering_key = o.ordering_key
        AND earlier.channel = o.channel AND earlier.id < o.id)
