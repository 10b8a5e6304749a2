-- Who holds the lease, and for how many milliseconds more.
-- $1 shard
SELECT holder, (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
FROM outbox_lease
WHERE shard = $1 AND expires_at > clock_timestamp()
