-- One row found: the lease was the holder's. The row stays, for the next one.
-- shard, holder
UPDATE outbox_lease
SET expires_at = UTC_TIMESTAMP(6)
WHERE shard = ? AND holder = ? AND expires_at > UTC_TIMESTAMP(6)
