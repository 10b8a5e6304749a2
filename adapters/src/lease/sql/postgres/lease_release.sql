-- One row changed: the lease was $2's. The row stays, for the next holder.
-- $1 shard, $2 holder
UPDATE outbox_lease
SET expires_at = clock_timestamp()
WHERE shard = $1 AND holder = $2 AND expires_at > clock_timestamp()
