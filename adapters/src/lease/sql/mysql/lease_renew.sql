-- One row found: the lease is the holder's for the time to live, from now.
-- time to live in microseconds, shard, holder
UPDATE outbox_lease
SET expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
WHERE shard = ? AND holder = ? AND expires_at > UTC_TIMESTAMP(6)
