-- Writes down who has the lock.
-- $1 shard, $2 holder, $3 time to live in milliseconds
INSERT INTO outbox_lease AS lease (shard, holder, expires_at)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (shard) DO UPDATE
SET holder = excluded.holder, expires_at = excluded.expires_at
