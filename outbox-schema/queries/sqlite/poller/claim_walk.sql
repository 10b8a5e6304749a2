-- Due rows, highest priority and longest due first, those of unknown channels too. Closed destinations and channels are passed
-- over. What there is room for is counted by the caller (fitting.rs), and bodies are read once it is known whose (claimed.sql).
--
-- A branch for each priority, each ended by its LIMIT: sorting by priority would read the backlog. Each begins behind the
-- row that it is given, if any: see WalkStart. No start is younger than a second, because who began a moment ago may be
-- waiting for the lock of the file still.
--
-- The heads of ordering keys are given: see claim_heads.sql. A key with a row in flight has its turn: a redriven row of it
-- that goes before waits for that one.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)),
start(priority, ms, id) AS MATERIALIZED (
    SELECT key, coalesce(value ->> 0, -9e999), coalesce(value ->> 1, 0) FROM json_each(?6)
), busy AS MATERIALIZED (
    SELECT o.channel, o.ordering_key FROM json_each(?2) excluded CROSS JOIN outbox o ON o.id = excluded.value
    WHERE o.ordering_key IS NOT NULL
)
SELECT id, revision, channel, destination, bytes, priority, ordered,
       CASE WHEN available_at > -9e15 -- beyond are no moments
            THEN CAST(min(available_at, now.ms - 1000) AS INTEGER) * 1000 END AS start_us
FROM (
    SELECT * FROM (
        SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + length(CAST(target AS BLOB)) + coalesce(length(CAST(headers AS BLOB)), 0) AS bytes
        FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 3 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 3)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?8))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT * FROM (
        SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + length(CAST(target AS BLOB)) + coalesce(length(CAST(headers AS BLOB)), 0) AS bytes
        FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 2 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 2)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?8))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT * FROM (
        SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + length(CAST(target AS BLOB)) + coalesce(length(CAST(headers AS BLOB)), 0) AS bytes
        FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 1 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 1)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?8))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT * FROM (
        SELECT id, revision, channel, destination, priority, available_at, FALSE AS ordered,
            payload_bytes + length(CAST(target AS BLOB)) + coalesce(length(CAST(headers AS BLOB)), 0) AS bytes
        FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
          AND priority = 0 AND available_at <= (SELECT ms FROM now)
          AND (available_at, id) > (SELECT ms, id FROM start WHERE start.priority = 0)
          AND id NOT IN (SELECT value FROM json_each(?2))
          AND destination NOT IN (SELECT value FROM json_each(?5)) AND channel NOT IN (SELECT value FROM json_each(?8))
        ORDER BY available_at, id LIMIT ?3)
    UNION ALL
    SELECT o.id, o.revision, o.channel, o.destination, o.priority, o.available_at, TRUE,
            o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0)
    FROM json_each(?7) head CROSS JOIN outbox o ON o.id = head.value
    WHERE o.status = 'PENDING' AND o.available_at <= (SELECT ms FROM now) AND (o.channel, o.ordering_key) NOT IN (SELECT * FROM busy)
      AND o.destination NOT IN (SELECT value FROM json_each(?5)) AND o.channel NOT IN (SELECT value FROM json_each(?8))
      AND (o.channel NOT IN (SELECT value ->> 'name' FROM json_each(?4) WHERE value ->> 'halt')
           OR NOT EXISTS (
               SELECT 1 FROM outbox dead INDEXED BY outbox_halting
               WHERE dead.shard = ?1 AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
                 AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS NOT 'cancelled'))
) due CROSS JOIN now
ORDER BY priority DESC, available_at, id LIMIT ?9
