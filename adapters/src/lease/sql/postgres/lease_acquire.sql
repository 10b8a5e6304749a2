-- Takes the lease where nobody holds it. One row: it is $2's now.
-- $1 shard, $2 holder, $3 time to live in milliseconds
--
-- clock_timestamp(), since the statement may have waited for another candidate's.
INSERT INTO outbox_lease AS lease (shard, holder, expires_at)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (shard) DO UPDATE
SET holder = excluded.holder,
    expires_at = CASE WHEN lease.expires_at > clock_timestamp() THEN lease.expires_at ELSE excluded.expires_at END
WHERE lease.expires_at <= clock_timestamp() OR lease.holder = excluded.holder
RETURNING lease.shard
