-- The first waiting rows of the next ordering keys, in the order of their ids, by steps from number to number in the index of
-- keys, and the number where the next step begins. `goes` is false where a row is not due, or a dead letter halts it. There is
-- always a row, of NULLs where there is no key. Keys that share a number are shown as one.
WITH RECURSIVE key(number, nth) AS (
    SELECT (SELECT hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) FROM outbox o
            WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
              AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) >= $2::bigint
            ORDER BY hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) LIMIT 1), 1
    UNION ALL
    SELECT (SELECT hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) FROM outbox o
            WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
              AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) > key.number
            ORDER BY hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) LIMIT 1), key.nth + 1
    FROM key WHERE key.number IS NOT NULL AND key.nth <= $3
)
SELECT (SELECT key.number FROM key WHERE key.nth > $3) AS next,
       h.id, h.revision, h.priority, h.available_at, h.channel, h.tenant, h.destination, h.ordering_key, h.bytes, h.goes
FROM (SELECT 1) AS always LEFT JOIN (
    SELECT o.*
    FROM key CROSS JOIN LATERAL (
        SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
               o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
               o.available_at <= now()
               AND CASE WHEN o.channel = ANY ($5::varchar[]) THEN
                   -- As a stretch of the index of what halts: as equal values, it could be looked for in the order of another
                   -- index.
                   (SELECT true FROM outbox dead
                    WHERE dead.status = 'DEAD' AND dead.ordering_key IS NOT NULL AND dead.dead_reason IS DISTINCT FROM 'cancelled'
                      AND dead.shard = o.shard AND dead.channel = o.channel AND dead.ordering_key >= o.ordering_key
                      AND (dead.ordering_key, dead.id) < (o.ordering_key, o.id)
                    ORDER BY dead.ordering_key, dead.id LIMIT 1) IS NULL
               ELSE true END AS goes
        FROM outbox o
        WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
          AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) >= key.number
          AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) <= key.number
        ORDER BY hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)), o.id
        LIMIT $4) o
    WHERE key.number IS NOT NULL AND key.nth <= $3
) h ON true
