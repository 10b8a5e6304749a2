-- name: by_ids
-- Rows by their ids.
FROM json_each(?1) asked CROSS JOIN outbox o ON o.id = asked.value

-- name: claim_rows
-- Of rows and the revision of each, those that a claim may take: waiting, due, of a configured channel, and first of their
-- ordering key. A dead letter halts its key where its channel says so.
SELECT sent.key AS place, o.id, o.revision
FROM json_each(?1) sent CROSS JOIN outbox o ON o.id = sent.value ->> 0 AND o.revision = sent.value ->> 1
CROSS JOIN json_each(?2) known ON known.value ->> 'name' = o.channel
WHERE o.shard = ?3 AND o.status = 'PENDING' AND o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (o.ordering_key IS NULL OR (
      NOT EXISTS (
          SELECT 1 FROM outbox earlier INDEXED BY outbox_ordered
          WHERE earlier.shard = ?3 AND earlier.status = 'PENDING' AND earlier.ordering_key = o.ordering_key
            AND earlier.channel = o.channel AND earlier.id < o.id)
      AND (NOT known.value ->> 'halt' OR NOT EXISTS (
          SELECT 1 FROM outbox dead INDEXED BY outbox_halting
          WHERE dead.shard = ?3 AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
            AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS NOT 'cancelled'))))

-- name: look
-- Due rows of each priority, behind the place that is given, if any. Rows and lanes may be passed over: this is a filter, so
-- the index ends the look all the same.
FROM json_each(?2) start CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_due
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NULL AND d.priority = start.value ->> 0
      AND d.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
      AND (d.available_at, d.id) > (coalesce((start.value ->> 1) / 1000.0, -9e999), start.value ->> 2)
      AND d.id NOT IN (SELECT value FROM json_each(?4))
      AND (d.channel, coalesce(d.tenant, d.destination)) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?5))
    ORDER BY d.available_at, d.id LIMIT ?3)

-- name: look_at_keys
-- The first waiting rows of ordering keys, due or not. Dead letters of some channels halt their keys. Names are given as bytes:
-- not all are UTF-8.
FROM json_each(?2) key CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_ordered
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NOT NULL
      AND d.channel = CAST(unhex(key.value ->> 0) AS TEXT) AND d.ordering_key = CAST(unhex(key.value ->> 1) AS TEXT)
    ORDER BY d.id LIMIT ?3)
WHERE o.channel NOT IN (SELECT value FROM json_each(?4))
   OR NOT EXISTS (
       SELECT 1 FROM outbox dead INDEXED BY outbox_halting
       WHERE dead.shard = o.shard AND dead.channel = o.channel AND dead.ordering_key = o.ordering_key
         AND dead.id < o.id AND dead.status = 'DEAD' AND dead.dead_reason IS NOT 'cancelled')

-- name: look_at_lanes
-- Due rows of lanes, each of one priority and behind the place that is given, if any. Names are given as bytes: not all are
-- UTF-8. The index is of an expression, which has no affinity: a plus takes that of the name away, or the index ends at the
-- channel.
FROM json_each(?2) start CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_turns
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NULL
      AND d.channel = CAST(unhex(start.value ->> 0) AS TEXT)
      AND coalesce(d.tenant, d.destination) = +CAST(unhex(start.value ->> 1) AS TEXT)
      AND d.priority = start.value ->> '$[2][0]' AND d.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
      AND (d.available_at, d.id) > (coalesce((start.value ->> '$[2][1]') / 1000.0, -9e999), start.value ->> '$[2][2]')
    ORDER BY d.available_at, d.id LIMIT ?3)

-- name: newest
-- Of the newest due rows of each priority, those that were never tried. Of those that come due again there may be any number.
FROM json_each('[0, 1, 2, 3]') priority CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_due
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NULL AND d.priority = priority.value
      AND d.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
    ORDER BY d.available_at DESC, d.id DESC LIMIT 8 * ?2)
WHERE o.first_attempt_at IS NULL

-- name: next_keys
-- The next ordering keys of the ring, found as `next_lanes` finds lanes.
WITH RECURSIVE head(id) AS (
    SELECT coalesce(
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL
           AND channel = CAST(unhex(?2) AS TEXT) AND ordering_key > CAST(unhex(?3) AS TEXT)
         ORDER BY ordering_key, id LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND channel > CAST(unhex(?2) AS TEXT)
         ORDER BY channel, ordering_key, id LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND ?2 IS NULL
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
    LIMIT ?4
)
SELECT hex(o.channel), hex(o.ordering_key) FROM head CROSS JOIN outbox o ON o.id = head.id

-- name: next_lanes
-- The next lanes of the ring, found by stepping from one to the next in the index. One comparison of (channel, tenant) would
-- step on the channel alone. Names are shown as bytes: not all are UTF-8. For the plus see `look_at_lanes`.
WITH RECURSIVE lane(id) AS (
    SELECT coalesce(
        (SELECT id FROM outbox INDEXED BY outbox_turns
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
           AND channel = CAST(unhex(?2) AS TEXT) AND coalesce(tenant, destination) > +CAST(unhex(?3) AS TEXT)
         ORDER BY coalesce(tenant, destination) LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_turns
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel > CAST(unhex(?2) AS TEXT)
         ORDER BY channel, coalesce(tenant, destination) LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_turns
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND ?2 IS NULL
         ORDER BY channel, coalesce(tenant, destination) LIMIT 1))
    UNION ALL
    SELECT coalesce(
        (SELECT following.id FROM outbox following INDEXED BY outbox_turns
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NULL
           AND following.channel = o.channel
           AND coalesce(following.tenant, following.destination) > coalesce(o.tenant, o.destination)
         ORDER BY coalesce(following.tenant, following.destination) LIMIT 1),
        (SELECT following.id FROM outbox following INDEXED BY outbox_turns
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NULL
           AND following.channel > o.channel
         ORDER BY following.channel, coalesce(following.tenant, following.destination) LIMIT 1))
    FROM lane CROSS JOIN outbox o ON o.id = lane.id
    LIMIT ?4
)
SELECT hex(o.channel), hex(coalesce(o.tenant, o.destination)) FROM lane CROSS JOIN outbox o ON o.id = lane.id

-- name: shown
-- What a look shows of a row: see Header. A look goes on from here.
SELECT o.id, o.revision, o.priority, CAST(o.available_at AS REAL) AS at_ms,
       o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS due,
       o.channel, coalesce(o.tenant, o.destination) AS tenant, o.destination, o.ordering_key,
       o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0) AS bytes

-- name: term
-- The term and whether a claim was made, as they are without waiting for anybody.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made FROM outbox_term t WHERE t.shard = ?2

-- name: unknown
-- Of these rows, those that are due and whose channel is not configured.
SELECT o.id, o.channel FROM json_each(?1) met CROSS JOIN outbox o ON o.id = met.value
WHERE o.shard = ?3 AND o.status = 'PENDING' AND o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND o.channel NOT IN (SELECT value ->> 'name' FROM json_each(?2))
