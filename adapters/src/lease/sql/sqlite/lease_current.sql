-- Who holds the lease, and for how many milliseconds more.
-- ?1 shard
SELECT holder, expires_at - CAST(unixepoch('subsec') * 1000 AS INTEGER)
FROM outbox_lease
WHERE shard = ?1 AND expires_at > CAST(unixepoch('subsec') * 1000 AS INTEGER)
