-- Due rows of each priority behind a place. A branch for each priority, each ended by its LIMIT.
FROM unnest('{3,2,1,0}'::smallint[], $2::timestamptz[], $3::bigint[]) AS behind(priority, at, id) CROSS JOIN LATERAL (
    SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
           o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
    FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = behind.priority
      AND o.available_at <= now() AND (o.available_at, o.id) > (behind.at, behind.id)
    ORDER BY o.available_at, o.id LIMIT $4
) h
