-- The terms of a shard up to an epoch, the newest first, and when the next one began. Two ranges of the primary key: with a
-- subquery for each term MariaDB reads all that are older.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch'), CAST(ended_at AS TEXT)) AS ended_at,
       ended_because, claimed, delivered, failed, in_doubt, instance, version,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', next_at / 1000.0, 'unixepoch'), CAST(next_at AS TEXT)) AS next_started_at
FROM (
    SELECT l.*, lead(started_at) OVER (ORDER BY epoch) AS next_at
    FROM (
        SELECT * FROM (
            SELECT * FROM outbox_term_log WHERE shard = ?1 AND epoch > ?2 ORDER BY epoch LIMIT 1
        ) next
        UNION ALL
        SELECT * FROM (
            SELECT * FROM outbox_term_log WHERE shard = ?1 AND epoch <= ?2 ORDER BY epoch DESC LIMIT ?3
        ) these
    ) l
) l
WHERE epoch <= ?2 ORDER BY epoch DESC
