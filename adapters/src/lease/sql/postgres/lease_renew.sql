-- One row changed: the lease is $2's for the time to live, from now.
-- $1 shard, $2 holder, $3 time to live in milliseconds
UPDATE outbox_lease
SET expires_at = clock_timestamp() + $3 * interval '1 millisecond'
WHERE shard = $1 AND holder = $2 AND expires_at > clock_timestamp()
