-- Of the newest rows, those that were never tried and are the heads of their ordering keys. Where a claim does not look at all keys,
-- it looks at these too: whoever writes for a new key does not wait until all others had their turns.
SELECT o.id
FROM (SELECT id FROM outbox FORCE INDEX (PRIMARY) ORDER BY id DESC LIMIT 512) newest
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = newest.id
WHERE o.status = 'PENDING' AND o.shard = ? AND o.ordering_key IS NOT NULL AND o.first_attempt_at IS NULL
  AND NOT EXISTS (
      SELECT 1 FROM outbox earlier FORCE INDEX (outbox_ordered)
      WHERE earlier.status = 'PENDING' COLLATE utf8mb4_bin AND earlier.shard = o.shard AND earlier.ordering_key = o.ordering_key
        AND earlier.channel = o.channel AND earlier.id < o.id)
