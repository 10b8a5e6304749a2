-- The terms of a shard up to an epoch, the newest first, and when the next one began. Two ranges of the primary key: with a
-- subquery for each term MariaDB reads all that are older.
SELECT shard, epoch, holder,
       DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       DATE_FORMAT(ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at,
       ended_because, claimed, delivered, failed, in_doubt, instance, version,
       DATE_FORMAT(next_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS next_started_at
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
