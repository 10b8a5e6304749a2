-- One row: the lease is the holder's.
-- shard, holder
SELECT shard
FROM outbox_lease
WHERE shard = ? AND holder = ? AND expires_at > UTC_TIMESTAMP(6)
