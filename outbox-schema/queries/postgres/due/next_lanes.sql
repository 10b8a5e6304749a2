-- The first due rows of each priority of the next lanes, by steps from number to number in the index of turns, and the number
-- where the next step begins. There is always a row, of NULLs where none of the lanes has a due one. Lanes whose names share a
-- number are shown as one. Most applications write one priority: the others are not looked for with each lane.
WITH RECURSIVE lane(number, nth) AS (
    SELECT (SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                    | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655))
            FROM outbox o
            WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) >= $2::bigint
            ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
                      | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) LIMIT 1), 1
    UNION ALL
    SELECT (SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
                    | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655))
            FROM outbox o
            WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL
              AND (((hashtextextended(o.channel, 0) & 32767) << 48)
                   | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) > lane.number
            ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
                      | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) LIMIT 1), lane.nth + 1
    FROM lane WHERE lane.number IS NOT NULL AND lane.nth <= $3
)
SELECT (SELECT lane.number FROM lane WHERE lane.nth > $3) AS next,
       h.id, h.revision, h.priority, h.available_at, h.channel, h.tenant, h.destination, h.ordering_key, h.bytes
FROM (SELECT 1) AS always LEFT JOIN (
    SELECT o.*
    FROM lane
    CROSS JOIN unnest(ARRAY(
        SELECT used.priority FROM unnest('{3,2,1,0}'::smallint[]) AS used(priority)
        WHERE (SELECT true FROM outbox o
               WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = used.priority
                 AND o.available_at <= now()
               ORDER BY o.available_at, o.id LIMIT 1))) AS used(priority)
    CROSS JOIN LATERAL (
        SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
               o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
        FROM outbox o
        WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL
          AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority)
              >= (lane.number, used.priority)
          AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
                | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at)
              <= (lane.number, used.priority, now())
        ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
                  | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id
        LIMIT $4) o
    WHERE lane.number IS NOT NULL AND lane.nth <= $3
) h ON true
