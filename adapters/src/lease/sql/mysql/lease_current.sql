-- Who holds the lease, and for how many milliseconds more.
-- shard
SELECT holder, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) DIV 1000
FROM outbox_lease
WHERE shard = ? AND expires_at > UTC_TIMESTAMP(6)
