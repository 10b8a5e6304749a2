-- The terms of a shard up to an epoch, the newest first, and when the next one began. Two ranges of the primary key: with a
-- subquery for each term MariaDB reads all that are older.
SELECT shard::integer AS shard, epoch, holder,
       coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(ended_at) #>> '{}') AS ended_at,
       ended_because, claimed, delivered, failed, in_doubt, instance, version,
       coalesce(to_char(next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(next_at) #>> '{}') AS next_started_at
FROM (
    SELECT l.*, lead(started_at) OVER (ORDER BY epoch) AS next_at
    FROM (
        SELECT * FROM (
            SELECT * FROM outbox_term_log WHERE shard = $1::smallint AND epoch > $2::bigint ORDER BY epoch LIMIT 1
        ) next
        UNION ALL
        SELECT * FROM (
            SELECT * FROM outbox_term_log WHERE shard = $1::smallint AND epoch <= $2::bigint ORDER BY epoch DESC LIMIT $3
        ) these
    ) l
) l
WHERE epoch <= $2::bigint ORDER BY epoch DESC
