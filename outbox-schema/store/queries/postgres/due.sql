-- name: claim_rows
FROM outbox_claim_rows(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_channels => $5, p_most_bytes => $6, p_halting => $7,
    p_at_most_once => $8, p_timeout_ms => $9, p_margin_ms => $10, p_ttl_ms => $11, p_ids => $13, p_revisions => $14
) due
CROSS JOIN (SELECT $12::boolean AS bodies) wanted

-- name: look
-- Due rows of each priority behind a place. A branch for each priority, each ended by its LIMIT.
FROM unnest('{3,2,1,0}'::smallint[], $2::timestamptz[], $3::bigint[]) AS behind(priority, at, id) CROSS JOIN LATERAL (
    SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
           o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
    FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = behind.priority
      AND o.available_at <= now() AND (o.available_at, o.id) > (behind.at, behind.id)
    ORDER BY o.available_at, o.id LIMIT $4
) h

-- name: look_and_claim
FROM outbox_look_and_claim(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_channels => $5, p_most_bytes => $6, p_halting => $7,
    p_at_most_once => $8, p_timeout_ms => $9, p_margin_ms => $10, p_ttl_ms => $11, p_at => $13, p_id => $14, p_limit => $15, p_known => $16,
    p_not_of_channels => $17, p_not_of_tenants => $18, p_up_to => $19
) due
CROSS JOIN (SELECT $12::boolean AS bodies) wanted

-- name: look_at_lanes
-- Due rows of each lane and priority behind a place. One lane and one priority are asked for as a stretch of the index of
-- turns: as equal values, they could be looked for in the order of another index, past the rows of all others. Lanes whose
-- names share a number are told apart by their names. Most applications write one priority: the others are not looked for with
-- each lane.
FROM unnest($2::varchar[], $3::varchar[], $4::smallint[], $5::timestamptz[], $6::bigint[])
     AS behind(channel, tenant, priority, at, id)
CROSS JOIN LATERAL (
    SELECT o.id, o.revision, o.priority, o.available_at, o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination,
           o.ordering_key, o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
    FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL
      AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
            | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id)
          > ((((hashtextextended(behind.channel, 0) & 32767) << 48)
              | (hashtextextended(behind.tenant, 0) & 281474976710655)), behind.priority, behind.at, behind.id)
      AND ((((hashtextextended(o.channel, 0) & 32767) << 48)
            | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at)
          <= ((((hashtextextended(behind.channel, 0) & 32767) << 48)
               | (hashtextextended(behind.tenant, 0) & 281474976710655)), behind.priority, now())
      AND o.channel = behind.channel AND coalesce(o.tenant, o.destination) = behind.tenant
    ORDER BY (((hashtextextended(o.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)), o.priority, o.available_at, o.id
    LIMIT $7
) h
WHERE behind.priority = ANY (ARRAY(
    SELECT used.priority FROM unnest('{3,2,1,0}'::smallint[]) AS used(priority)
    WHERE (SELECT true FROM outbox o
           WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = used.priority
             AND o.available_at <= now()
           ORDER BY o.available_at, o.id LIMIT 1)))

-- name: message
-- The columns of a row that was claimed or shown: `due`. `wanted.bodies` is false where the rows cannot all be read: each is
-- then read by itself (`claimed_body`).
--
-- Seconds are floating-point numbers here, which take a fifth of the time of exact ones and tell microseconds apart until
-- the year 2100.
SELECT claimed, place, id, revision, priority, available_at, idempotency_key, channel, target, destination, bytes, too_large,
       CASE WHEN wanted.bodies THEN coalesce(payload::text, '') ELSE '' END AS payload, CASE WHEN wanted.bodies THEN headers::text END AS headers,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts,
       CASE WHEN isfinite(expires_at) THEN (date_part('epoch', expires_at - clock_timestamp()) * 1000)::bigint
            WHEN expires_at = '-infinity' THEN 0 END AS expires_in_ms,
       CASE WHEN isfinite(first_attempt_at)
            THEN (date_part('epoch', clock_timestamp() - first_attempt_at) * 1000)::bigint END AS retrying_for_ms,
       CASE WHEN isfinite(created_at)
            THEN (date_part('epoch', clock_timestamp() - created_at) * 1000)::bigint ELSE 0 END AS waited_ms,
       CASE WHEN isfinite(created_at) THEN floor(round(date_part('epoch', created_at) * 1e6) / 1000)::bigint END AS created_ms,
       deadline_ms, ordering_key, tenant, traceparent, tracestate,
       -- Asked of each row only where there are any.
       CASE WHEN (SELECT EXISTS (SELECT FROM outbox_invalid_target)) THEN EXISTS (
           SELECT FROM outbox_invalid_target gone
           WHERE gone.channel = due.channel AND md5(gone.target) = md5(due.target)) ELSE false END AS target_is_gone

-- name: newest
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

-- name: next_keys
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

-- name: next_lanes
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

-- name: session
-- What the connection for looks is told once. Each look is a stretch of one index in the order of that index: there is one plan
-- to choose, whatever the statistics of the table say, and also before it was ever analysed.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_incremental_sort = off;
SET plan_cache_mode = force_generic_plan;

-- name: shown
-- What a look shows of a row: `h`.
SELECT h.id, h.revision, h.priority, h.available_at, h.channel, h.tenant, h.destination, h.ordering_key, h.bytes
