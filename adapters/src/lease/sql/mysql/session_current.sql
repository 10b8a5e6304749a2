-- Who holds the lease, and for how many milliseconds more: as long as a session has the lock.
-- shard, lock
SELECT holder, GREATEST(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) DIV 1000, 0)
FROM outbox_lease
WHERE shard = ? AND IS_USED_LOCK(SHA2(CONCAT(LOWER(DATABASE()), ' ', ?), 256)) IS NOT NULL
