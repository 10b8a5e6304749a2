-- Who holds the lease, and for how many milliseconds more: as long as a session has the lock.
-- $1 shard, $2 lock
SELECT holder, greatest((extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint, 0)
FROM outbox_lease
WHERE shard = $1
  AND EXISTS (SELECT FROM pg_locks
              WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND (classid::bigint << 32 | objid::bigint) = hashtextextended($2, 0))
