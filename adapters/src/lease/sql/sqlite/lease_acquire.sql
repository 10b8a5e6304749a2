-- Takes the lease where nobody holds it. One row changed: it is ?2's now.
-- ?1 shard, ?2 holder, ?3 time to live in milliseconds
INSERT INTO outbox_lease AS lease (shard, holder, expires_at)
VALUES (?1, ?2, CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?3)
ON CONFLICT (shard) DO UPDATE
SET holder = excluded.holder,
    expires_at = CASE
        WHEN lease.expires_at > CAST(unixepoch('subsec') * 1000 AS INTEGER) THEN lease.expires_at
        ELSE excluded.expires_at
    END
WHERE lease.expires_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) OR lease.holder = excluded.holder
