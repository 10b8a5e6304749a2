-- Due rows of each priority that were never tried, among the newest of all. A branch for each priority, each ended by its LIMIT.
FROM unnest('{3,2,1,0}'::smallint[]) AS wanted(priority) CROSS JOIN LATERAL (
    SELECT o.* FROM (
        SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
               o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
               o.first_attempt_at
        FROM outbox o
        WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = wanted.priority
          AND o.available_at <= now()
        ORDER BY o.available_at DESC, o.id DESC LIMIT 8 * $2::bigint) o
    WHERE o.first_attempt_at IS NULL
    ORDER BY o.available_at DESC, o.id DESC LIMIT $2
) h
