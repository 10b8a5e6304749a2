-- Due rows, highest priority and longest due first: those to claim, and those of unknown channels that the walk met and
-- that are to be moved out of its way, told apart by `claimed`. Closed destinations and channels are passed over; of each
-- other destination no more are claimed than there is room for.
--
-- A branch for each priority, each ended by its LIMIT: sorting by priority would read the backlog. Each begins behind the
-- row that it is given, if any: see WalkStart. No start is younger than a second, because who began a moment ago may be
-- waiting for the lock of the file still.
--
-- The heads of ordering keys, of the stretch that is asked for (see KeyStretch), are found by stepping from key to key in the
-- index: asking for each row whether one is before it reads all that waits behind a key. One comparison of (channel,
-- ordering_key) would step on channel alone. A key with a row in flight has its turn: a redriven row of it that goes before
-- waits for that one. What is due is materialised, or the sort of the windows would be pushed below its LIMIT.
--
-- The rows come in the order of the window (by `claimed`, then by place), through a join that keeps it. To sort them once
-- more, with their bodies, would hold all bodies in memory once more.
WITH RECURSIVE now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)),
start(priority, ms, id) AS MATERIALIZED (
    SELECT key, coalesce(value ->> 0, -9e999), coalesce(value ->> 1, 0) FROM json_each(?9)
), head(id) AS (
    SELECT coalesce(
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL
           AND channel = coalesce(?10, '') AND ordering_key >= coalesce(?11, '')
         ORDER BY ordering_key, id LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND channel > coalesce(?10, '')
         ORDER BY channel, ordering_key, id LIMIT 1))
    UNION ALL
    SELECT coalesce(
        (SELECT following.id FROM outbox following INDEXED BY outbox_ordered
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NOT NULL
           AND following.channel = o.channel AND following.ordering_key > o.ordering_key
         ORDER BY following.ordering_key, following.id LIMIT 1),
        (SELECT following.id FROM outbox following INDEXED BY outbox_ordered
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NOT NULL
           AND following.channel > o.channel
         ORDER BY following.channel, following.ordering_key, following.id LIMIT 1))
    FROM head CROSS JOIN outbox o ON o.id = head.id
    WHERE ?12 IS NULL OR (o.channel, o.ordering_key) < (?12, ?13)
), busy AS MATERIALIZED (
    SELECT o.channel, o.ordering_key FROM json_each(?2) excluded CROSS JOIN outbox o ON o.id = excluded.value
    WHERE o.ordering_key IS NOT NULL
), due AS MATERIALIZED (
    SELECT * FROM (
        SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 3 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 3)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?14))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 2 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 2)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?14))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 1 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 1)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?14))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel, destination, payload_bytes, priority, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 0 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 0)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?14))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT o.id, o.channel, o.destination, o.payload_bytes, o.priority, o.available_at
    FROM head CROSS JOIN outbox o ON o.id = head.id
    WHERE o.available_at <= (SELECT ms FROM now) AND (o.channel, o.ordering_key) NOT IN (SELECT * FROM busy)
      AND (?12 IS NULL OR (o.channel, o.ordering_key) < (?12, ?13))
      AND o.destination NOT IN (SELECT value FROM json_each(?5)) AND o.channel NOT IN (SELECT value FROM json_each(?14))
      AND (o.channel NOT IN (SELECT value ->> 'name' FROM json_each(?4) WHERE value ->> 'halt')
           OR NOT EXISTS (
               SELECT 1 FROM outbox dead INDEXED BY outbox_halting
               WHERE dead.shard = ?1 AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
                 AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS NOT 'cancelled'))
    ORDER BY priority DESC, available_at, id LIMIT ?3
), met AS (
    SELECT due.*, known.value IS NOT NULL AS claimed,
           min(coalesce(limited.value ->> 'room', known.value ->> 'room'), known.value ->> 'most') AS room,
           row_number() OVER (PARTITION BY known.value IS NOT NULL, due.destination
                              ORDER BY due.priority DESC, due.available_at, due.id) AS place_there,
           row_number() OVER (PARTITION BY known.value IS NOT NULL, due.priority
                              ORDER BY due.available_at, due.id) AS nth
    FROM due
    LEFT JOIN json_each(?4) known ON known.value ->> 'name' = due.channel
    LEFT JOIN json_each(?8) limited ON limited.value ->> 'destination' = due.destination
), walked AS (
    SELECT id, claimed, nth, row_number() OVER walk AS place, sum(payload_bytes) OVER walk AS bytes_so_far
    FROM met WHERE NOT claimed OR place_there <= room
    WINDOW walk AS (PARTITION BY claimed ORDER BY priority DESC, available_at, id ROWS UNBOUNDED PRECEDING)
)
SELECT walked.claimed,
       o.id, o.revision, o.idempotency_key, o.channel, o.target, o.destination,
       CASE WHEN walked.claimed THEN o.payload ELSE '' END AS payload, o.headers, o.attempts, o.max_attempts,
       CAST(o.expires_at - now.ms AS INTEGER) AS expires_in_ms,
       CAST(now.ms - o.first_attempt_at AS INTEGER) AS retrying_for_ms,
       CAST(now.ms - o.created_at AS INTEGER) AS waited_ms,
       CAST(o.created_at AS INTEGER) AS created_ms,
       o.ordering_key, o.traceparent, o.tracestate,
       EXISTS (SELECT 1 FROM outbox_invalid_target gone
               WHERE gone.channel = o.channel AND gone.target = o.target) AS target_is_gone,
       o.priority,
       CASE WHEN o.available_at > -9e15 -- beyond are no moments
            THEN CAST(min(o.available_at, now.ms - 1000) AS INTEGER) * 1000 END AS start_us, walked.nth
FROM walked CROSS JOIN outbox o ON o.id = walked.id CROSS JOIN now
WHERE NOT walked.claimed OR walked.bytes_so_far <= ?6 OR (walked.place = 1 AND ?7)
