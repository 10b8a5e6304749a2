-- name: attempts
SELECT number, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', claimed_at / 1000.0, 'unixepoch'), CAST(claimed_at AS TEXT)) AS claimed_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       duration_ms, outcome, status_code, error, excerpt,
       (SELECT l.instance FROM outbox o JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = a.epoch AND l.holder = a.holder
        WHERE o.id = a.message_id) AS instance
FROM outbox_attempt a WHERE message_id = ?1 ORDER BY id

-- name: audit
INSERT INTO outbox_audit (who, action, why, message_id, details)
VALUES (?1, ?2, ?3, ?4, ?5)
RETURNING id

-- name: audit_each
-- An entry for each message of an operation: what is about to be overwritten, from which an undo takes it back.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, o.id, json_object(
           'idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision,
           'dead_reason', o.dead_reason, 'attempts', o.attempts, 'error_hash', o.error_hash,
           'available_at', CASE WHEN o.status = 'PENDING' THEN strftime('%Y-%m-%dT%H:%M:%fZ', o.available_at / 1000.0, 'unixepoch') END,
           'first_attempt_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.first_attempt_at / 1000.0, 'unixepoch'),
           'finished_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'),
           'expires_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.expires_at / 1000.0, 'unixepoch'))
FROM outbox o WHERE o.id IN (SELECT value FROM json_each(?4)) ORDER BY o.id

-- name: audit_of_message
-- The reason of an operation stands in its own entry.
SELECT a.id, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000.0, 'unixepoch'), CAST(a.at AS TEXT)) AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details AS details, a.part_of
FROM outbox_audit a LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE a.message_id = ?1 ORDER BY a.id

-- name: audit_part
-- The entries of the messages of an edit, with what is about to be overwritten.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, value ->> 'id', value ->> 'details' FROM json_each(?4)

-- name: audits
-- Of the newest entries below an id, those that are meant, the newest first. Entries of one message of an operation are left out
-- unless the message, or the operation, is named.
SELECT a.id, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000.0, 'unixepoch'), CAST(a.at AS TEXT)) AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details AS details, a.part_of, a.message_id
FROM (SELECT * FROM outbox_audit l WHERE (?1 IS NULL OR l.message_id = ?1) AND (?2 IS NULL OR l.id < ?2)
        AND (?9 IS NULL OR l.part_of = ?9)
      ORDER BY l.id DESC LIMIT ?3) a
LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE (?1 IS NOT NULL OR ?9 IS NOT NULL OR a.part_of IS NULL) AND (?4 IS NULL OR a.at >= ?4 / 1000) AND (?5 IS NULL OR a.at <= ?5 / 1000)
  AND (?6 IS NULL OR substr(a.who, 1, length(?6)) = ?6) AND (?7 IS NULL OR a.action = ?7)
ORDER BY a.id DESC LIMIT ?8

-- name: audits_end
-- The lowest of the newest ids below one, where there are so many: where a page that looks no further ends.
SELECT l.id FROM outbox_audit l WHERE (?1 IS NULL OR l.id < ?1) ORDER BY l.id DESC LIMIT 1 OFFSET ?2

-- name: backlog
-- Due messages of a priority, without an ordering key, that are before a message: all of them where its own is lower, else those
-- longer due. How many, up to 10,000, and for how long the first has been due. Read from the index of the poll. And how many of
-- them are of its own tenant, read from the index of turns.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT count(*) AS ahead, CAST((SELECT now_ms FROM clock) - min(available_at) AS INTEGER) AS oldest_ms,
       (SELECT count(*) FROM (
           SELECT 1 FROM outbox o CROSS JOIN outbox t INDEXED BY outbox_turns
             ON t.channel = o.channel AND coalesce(t.tenant, t.destination) = coalesce(o.tenant, o.destination)
           WHERE o.id = ?4 AND t.shard = ?1 AND t.status = 'PENDING' AND t.ordering_key IS NULL AND t.priority = ?2
             AND t.available_at <= (SELECT now_ms FROM clock)
             AND (t.available_at, t.id) < (CASE WHEN ?2 > ?3 THEN 9223372036854775807 ELSE o.available_at END, ?4)
           LIMIT 10000)) AS of_tenant
FROM (
    SELECT available_at FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
      AND available_at <= (SELECT now_ms FROM clock)
      AND (available_at, id) < (CASE WHEN ?2 > ?3 THEN 9223372036854775807
                                     ELSE (SELECT available_at FROM outbox WHERE id = ?4) END, ?4)
    ORDER BY available_at, id LIMIT 10000
) before

-- name: cancel
UPDATE outbox
SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER),
    error_hash = NULL, deferred_from = NULL
WHERE id IN (SELECT value FROM json_each(?1))

-- name: channels
-- Reads what the partial indexes hold, and no history. A deferred message has been due since before its deferral; one
-- that was given a time in the past is no older than itself.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT channel, sum(pending) AS pending, sum(due) AS due, sum(deferred) AS deferred, sum(dead) AS dead,
       CAST((SELECT now_ms FROM clock) - min(oldest) AS INTEGER) AS lag_ms
FROM (
    SELECT channel, count(*) AS pending, count(*) FILTER (WHERE available_at <= now_ms) AS due,
           count(deferred_from) AS deferred, 0 AS dead,
           min(max(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now_ms) AS oldest
    FROM outbox, clock WHERE status = 'PENDING' AND ordering_key IS NULL GROUP BY channel
    UNION ALL
    SELECT channel, count(*), count(*) FILTER (WHERE available_at <= now_ms), count(deferred_from), 0,
           min(max(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now_ms)
    FROM outbox, clock WHERE status = 'PENDING' AND ordering_key IS NOT NULL GROUP BY channel
    UNION ALL
    SELECT o.channel, 0, 0, 0, letters, NULL
    FROM (SELECT count(*) AS letters, max(id) AS example FROM outbox INDEXED BY outbox_dead
          WHERE status = 'DEAD' GROUP BY fingerprint) dead
    JOIN outbox o ON o.id = dead.example
) parts
GROUP BY channel ORDER BY channel

-- name: contents
-- What an edit may change of the asked. Their rows are locked by now. No payload is read that is larger than one may be.
SELECT id, idempotency_key, channel, target, CASE WHEN payload_bytes <= ?2 THEN payload END AS payload, headers, revision
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id

-- name: current_terms
-- A shard that nobody has led yet has epoch 0.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - started_at AS INTEGER) AS age_ms
FROM outbox_term t WHERE t.epoch > 0 ORDER BY t.shard

-- name: dead_among
-- Of the messages named, the dead letters that meet the conditions.
SELECT o.id, o.dead_at * 1000 AS dead_at_us, o.fingerprint
FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD'
  AND (?2 IS NULL OR o.destination = ?2) AND o.dead_at >= ?3 / 1000
  AND o.dead_at <= ?4 / 1000
  AND (?5 IS NULL OR instr(lower(o.last_error), lower(?5)) > 0)
  AND (?6 IS NULL OR o.target = ?6)
  AND (?7 IS NULL OR substr(o.idempotency_key, 1, length(?7)) = ?7)
  AND (?8 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?8) EXCEPT SELECT key, value FROM json_each(o.tags)))
  AND (?9 IS NULL OR coalesce(o.tenant, o.destination) = ?9)

-- name: dead_fingerprint
-- The next of those that there are: one step in the index, whatever the database knows of its statistics.
SELECT fingerprint FROM outbox INDEXED BY outbox_dead WHERE status = 'DEAD' AND fingerprint > ?1 ORDER BY fingerprint LIMIT 1

-- name: dead_group
-- How many letters one fingerprint has: of all destinations, or of one. Read from an index alone.
SELECT sum(letters) AS letters,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', min(first_at) / 1000.0, 'unixepoch'), CAST(min(first_at) AS TEXT)) AS first_seen,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', max(last_at) / 1000.0, 'unixepoch'), CAST(max(last_at) AS TEXT)) AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox INDEXED BY outbox_dead
    WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox INDEXED BY outbox_dead_destination
    WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
) grouped

-- name: dead_group_matching
-- How many letters of one fingerprint meet other conditions: of all destinations, or of one. Looked for in the rows
-- themselves.
SELECT sum(letters) AS letters,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', min(first_at) / 1000.0, 'unixepoch'), CAST(min(first_at) AS TEXT)) AS first_seen,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', max(last_at) / 1000.0, 'unixepoch'), CAST(max(last_at) AS TEXT)) AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox INDEXED BY outbox_dead
    WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
      AND (?5 IS NULL OR instr(lower(last_error), lower(?5)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR substr(idempotency_key, 1, length(?7)) = ?7)
      AND (?8 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?8) EXCEPT SELECT key, value FROM json_each(tags)))
      AND (?9 IS NULL OR coalesce(tenant, destination) = ?9)
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox INDEXED BY outbox_dead_destination
    WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
      AND dead_at >= ?3 / 1000
      AND dead_at <= ?4 / 1000
      AND (?5 IS NULL OR instr(lower(last_error), lower(?5)) > 0)
      AND (?6 IS NULL OR target = ?6)
      AND (?7 IS NULL OR substr(idempotency_key, 1, length(?7)) = ?7)
      AND (?8 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?8) EXCEPT SELECT key, value FROM json_each(tags)))
      AND (?9 IS NULL OR coalesce(tenant, destination) = ?9)
) grouped

-- name: dead_last
-- When the last letter of one fingerprint died, up to a moment.
SELECT max(dead_at) * 1000 AS last_us FROM outbox INDEXED BY outbox_dead
WHERE status = 'DEAD' AND fingerprint = ?1 AND dead_at <= ?2 / 1000

-- name: dead_letters
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts, o.last_error,
       o.last_status_code, o.fingerprint, o.ordering_key, o.tenant, o.tags,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0, 'unixepoch'), CAST(o.created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.dead_at / 1000.0, 'unixepoch'), CAST(o.dead_at AS TEXT)) AS dead_at,
       o.dead_at * 1000 AS dead_at_us
FROM outbox o WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD'
ORDER BY o.dead_at DESC, o.id DESC

-- name: dead_page
-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Read from an index alone.
SELECT id, dead_at * 1000 AS dead_at_us FROM (
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead
     WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead_destination
     WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6

-- name: dead_page_matching
-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Those that meet
-- other conditions are looked for in the rows themselves.
SELECT id, dead_at * 1000 AS dead_at_us FROM (
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead
     WHERE status = 'DEAD' AND fingerprint = ?1 AND ?2 IS NULL
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
       AND (?7 IS NULL OR instr(lower(last_error), lower(?7)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR substr(idempotency_key, 1, length(?9)) = ?9)
       AND (?10 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?10) EXCEPT SELECT key, value FROM json_each(tags)))
       AND (?11 IS NULL OR coalesce(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
    UNION ALL
    SELECT * FROM (SELECT id, dead_at FROM outbox INDEXED BY outbox_dead_destination
     WHERE status = 'DEAD' AND fingerprint = ?1 AND destination = ?2
       AND dead_at >= ?3 / 1000
       AND dead_at <= ?4 / 1000
       AND (dead_at < ?4 / 1000 OR id < ?5)
       AND (?7 IS NULL OR instr(lower(last_error), lower(?7)) > 0)
       AND (?8 IS NULL OR target = ?8)
       AND (?9 IS NULL OR substr(idempotency_key, 1, length(?9)) = ?9)
       AND (?10 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?10) EXCEPT SELECT key, value FROM json_each(tags)))
       AND (?11 IS NULL OR coalesce(tenant, destination) = ?11)
     ORDER BY dead_at DESC, id DESC LIMIT ?6)
) page ORDER BY dead_at DESC, id DESC LIMIT ?6

-- name: deferred
-- Rows that were put aside or put off, counted, and for how long the oldest has been due: of all destinations, or of one
-- destination or channel.
SELECT destination, channel, count(*) AS waiting,
       CAST(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - min(deferred_from) AS INTEGER) AS oldest_ms
FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR destination = ?1 OR channel = ?1)
GROUP BY destination, channel

-- name: destinations
-- What is kept of destinations and channels: of all, or of one.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch'), CAST(paused_until AS TEXT)) AS paused_until,
       paused_until - now.ms AS paused_ms, coalesce(paused_until >= 253402214400000, 0) AS for_good, paused_by, pause_kind,
       reason, failures,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', aside_until / 1000.0, 'unixepoch'), CAST(aside_until AS TEXT)) AS aside_until,
       aside_until - now.ms AS aside_ms
FROM outbox_destination CROSS JOIN now WHERE ?1 IS NULL OR destination = ?1

-- name: due_by_destination
-- For whom the messages are that have been due for longest. Of each priority the first 2,500 without an ordering key are looked at,
-- and as many with one, in no order: however many wait.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT destination, channel, count(*) AS due, CAST((SELECT now_ms FROM clock) - min(available_at) AS INTEGER) AS oldest_ms
FROM (
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_ordered
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND available_at <= (SELECT now_ms FROM clock)
        LIMIT 2500)
) looked_at
GROUP BY destination, channel

-- name: durability
SELECT 'synchronous' AS name, CAST(synchronous AS TEXT) AS setting FROM pragma_synchronous

-- name: edit
-- Stays a dead letter. Receivers refuse a key with another body, so one with another body has a new key.
UPDATE outbox SET sent_key = CASE WHEN idempotency_key = ?1 THEN sent_key END, idempotency_key = ?1, target = ?2, payload = ?3, headers = ?4, revision = revision + 1
WHERE id = ?5

-- name: edit_each
-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE outbox AS o
SET sent_key = CASE WHEN o.idempotency_key = asked.key THEN o.sent_key END, idempotency_key = asked.key, target = asked.target, headers = asked.headers, revision = o.revision + 1
FROM (SELECT value ->> 'id' AS id, value ->> 'key' AS key, value ->> 'target' AS target, value ->> 'headers' AS headers
      FROM json_each(?1)) AS asked
WHERE o.id = asked.id

-- name: envelopes
-- What an edit of many may change of the asked, which is not their payload. Their rows are locked by now.
SELECT id, idempotency_key, channel, target, headers AS headers, revision
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id

-- name: figures
SELECT channel, begins_at / 1000 / ?2 * ?2 AS at_s, max(lag_ms) AS lag_ms, sum(delivered) AS delivered, sum(failed) AS failed,
       sum(dead) AS dead, sum(in_doubt) AS in_doubt, sum(deferred) AS deferred, sum(ms_10) AS ms_10,
       sum(ms_25) AS ms_25, sum(ms_50) AS ms_50, sum(ms_100) AS ms_100, sum(ms_250) AS ms_250, sum(ms_500) AS ms_500,
       sum(ms_1000) AS ms_1000, sum(ms_2500) AS ms_2500, sum(ms_5000) AS ms_5000, sum(ms_10000) AS ms_10000,
       sum(ms_60000) AS ms_60000, sum(ms_600000) AS ms_600000, sum(ms_3600000) AS ms_3600000, sum(ms_more) AS ms_more
FROM outbox_minute WHERE begins_at >= ?1 * 1000 AND (?3 IS NULL OR channel = ?3)
GROUP BY channel, at_s ORDER BY channel, at_s

-- name: fleet
SELECT id, name, version, schema_version,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - seen_at AS seen_ms,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', seen_at / 1000.0, 'unixepoch'), CAST(seen_at AS TEXT)) AS seen_at,
       address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble
FROM outbox_replica r ORDER BY r.name, r.started_at, r.id LIMIT 1000

-- name: former_key
-- The message that had a key before it was edited, by the newest of as many entries. No index has the keys of former days.
SELECT a.message_id
FROM (SELECT id, action, message_id, details FROM outbox_audit ORDER BY id DESC LIMIT ?2) a
WHERE a.action = 'edit' AND a.message_id IS NOT NULL AND a.details ->> 'idempotency_key' = ?1
ORDER BY a.id DESC LIMIT 1

-- name: halted_keys
-- The ordering keys of a channel, behind one of them, that a dead letter halts: with that letter, the first message that waits, and
-- how many do, up to a number. Looks at so many dead letters of the channel, and at their keys: a million of them take no longer.
WITH letter AS MATERIALIZED (
    SELECT ordering_key, min(id) AS id FROM (
        SELECT ordering_key, id FROM outbox INDEXED BY outbox_halting
        WHERE shard = ?1 AND channel = ?2 AND ordering_key >= coalesce(?3, '') AND ordering_key IS NOT ?3
          AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS NOT 'cancelled'
        ORDER BY ordering_key, id LIMIT ?4
    ) GROUP BY ordering_key
), halted AS MATERIALIZED (
    SELECT * FROM (
        SELECT letter.ordering_key, letter.id AS dead_letter,
               (SELECT w.id FROM outbox w INDEXED BY outbox_ordered
                WHERE w.shard = ?1 AND w.channel = ?2 AND w.ordering_key = letter.ordering_key AND w.status = 'PENDING'
                ORDER BY w.id LIMIT 1) AS first_waiting
        FROM letter
    )
    WHERE first_waiting > dead_letter
    ORDER BY ordering_key LIMIT ?5
)
SELECT ?2 AS channel, halted.ordering_key, halted.dead_letter, d.dead_reason,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', d.dead_at / 1000.0, 'unixepoch'), CAST(d.dead_at AS TEXT)) AS dead_at,
       halted.first_waiting,
       (SELECT count(*) FROM (
           SELECT 1 FROM outbox w INDEXED BY outbox_ordered
           WHERE w.shard = ?1 AND w.channel = ?2 AND w.ordering_key = halted.ordering_key AND w.status = 'PENDING'
           LIMIT ?6)) AS waiting
FROM halted CROSS JOIN outbox d ON d.id = halted.dead_letter
ORDER BY halted.ordering_key

-- name: halted_keys_end
-- The ordering key with which the last look at so many dead letters ended: there the next one begins. None where there were fewer.
SELECT ordering_key FROM outbox INDEXED BY outbox_halting
WHERE shard = ?1 AND channel = ?2 AND ordering_key >= coalesce(?3, '') AND ordering_key IS NOT ?3
  AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS NOT 'cancelled'
ORDER BY ordering_key, id LIMIT 1 OFFSET ?4

-- name: halting_letters
-- Those of the asked that halt their ordering key where its channel says so, and the first message that waits behind each.
SELECT id, first_waiting FROM (
    SELECT o.id, (SELECT w.id FROM outbox w INDEXED BY outbox_ordered
                  WHERE w.shard = o.shard AND w.channel = o.channel AND w.ordering_key = o.ordering_key AND w.status = 'PENDING'
                  ORDER BY w.id LIMIT 1) AS first_waiting
    FROM outbox o
    WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD' AND o.dead_reason IS NOT 'cancelled'
      AND NOT EXISTS (
          SELECT 1 FROM outbox d INDEXED BY outbox_halting
          WHERE d.shard = o.shard AND d.channel = o.channel AND d.ordering_key = o.ordering_key AND d.id < o.id
            AND d.status = 'DEAD' AND d.dead_reason IS NOT 'cancelled')
) WHERE first_waiting > id

-- name: held_back
-- A reader of SQLite keeps the log from being emptied, which slows nobody's search down.
SELECT 1 AS sees_all, 0 AS dead_rows, NULL AS kind, NULL AS name, NULL AS who, NULL AS since, NULL AS age_ms,
       NULL AS transactions

-- name: ids_below
-- The lowest id of so many rows down the primary key, and how many rows there are.
SELECT min(below.id) AS lowest, count(*) AS looked_at
FROM (SELECT id FROM outbox WHERE id < ?1 ORDER BY id DESC LIMIT ?2) below

-- name: ids_between
-- Of the rows between two ids, those that a filter means, the newest first.
SELECT o.id
FROM outbox o
WHERE o.id >= ?1 AND o.id < ?17

-- name: ids_by_key
-- What has a key that begins so, as long as it is little.
SELECT id FROM outbox WHERE idempotency_key >= ?1 AND idempotency_key < ?2 ORDER BY idempotency_key LIMIT ?3

-- name: ids_by_tag
-- What has a tag, as long as it is little.
SELECT message_id AS id FROM outbox_tag WHERE tag = ?1 LIMIT ?3

-- name: ids_dead
-- Dead letters, as long as they are few: their index holds nothing else.
SELECT id FROM outbox INDEXED BY outbox_dead WHERE status = 'DEAD' LIMIT ?1

-- name: ids_in_doubt
-- What was ever in doubt, or was of one term, as long as that is little: attempts that are recorded are few.
SELECT DISTINCT message_id AS id FROM outbox_attempt
WHERE outcome = 'in_doubt' AND (?1 = 0 OR epoch = ?1) LIMIT ?2

-- name: ids_pending
-- What waits, as long as that is little: the two indexes of the poll hold nothing else.
SELECT id FROM outbox INDEXED BY outbox_due WHERE status = 'PENDING' AND ordering_key IS NULL
UNION ALL
SELECT id FROM outbox INDEXED BY outbox_ordered WHERE status = 'PENDING' AND ordering_key IS NOT NULL
LIMIT ?1

-- name: invalid_target_of
-- Whether the target of a message is known to be gone.
SELECT t.id, t.channel, t.target, t.reason,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', t.observed_at / 1000.0, 'unixepoch'), CAST(t.observed_at AS TEXT)) AS observed_at
FROM outbox o JOIN outbox_invalid_target t ON t.channel = o.channel AND t.target = o.target
WHERE o.id = ?1

-- name: invalid_targets
-- Targets that are known to be gone, the last recorded first.
SELECT id, channel, target, reason,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', observed_at / 1000.0, 'unixepoch'), CAST(observed_at AS TEXT)) AS observed_at
FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1) AND (?2 IS NULL OR target IN (SELECT value FROM json_each(?2)))
  AND (?3 IS NULL OR observed_at <= ?3 / 1000) AND id < ?4
ORDER BY id DESC LIMIT ?5

-- name: invalid_targets_clear
-- One that was found to be gone once more since it was chosen by its age stays.
DELETE FROM outbox_invalid_target
WHERE id IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR observed_at <= ?2 / 1000)

-- name: invalid_targets_count
SELECT count(*) AS total FROM outbox_invalid_target
WHERE (?1 IS NULL OR channel = ?1) AND (?2 IS NULL OR target IN (SELECT value FROM json_each(?2)))
  AND (?3 IS NULL OR observed_at <= ?3 / 1000)

-- name: job_pause
UPDATE outbox_job SET paused_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), paused_by = ?2 WHERE name = ?1 AND paused_at IS NULL

-- name: job_resume
UPDATE outbox_job SET paused_at = NULL, paused_by = NULL WHERE name = ?1 AND paused_at IS NOT NULL

-- name: job_runs
-- The runs of a job below a token, the newest first. What a run wrote is long: it is read of one run only.
SELECT r.token, r.holder, r.host, r.pid, r.command,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.seen_at / 1000.0, 'unixepoch') AS seen_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.ended_at / 1000.0, 'unixepoch') AS ended_at,
       r.ended_at - r.started_at AS took_ms,
       r.ended_because, r.exit_code, r.signal, CASE WHEN ?4 = 1 THEN r.tail END AS tail
FROM outbox_job_run r WHERE r.name = ?1 AND r.token < ?2 ORDER BY r.token DESC LIMIT ?3

-- name: jobs
-- The jobs that have run somewhere, or the one of this name, each with its last run. One is late where too long ago
-- a run ended, or was last known to go on.
SELECT j.name,
       CASE WHEN r.id IS NOT NULL AND r.ended_because IS NULL THEN 'running' WHEN j.paused_at IS NOT NULL THEN 'paused'
            WHEN r.id IS NULL THEN 'never' WHEN r.ended_because = 'finished' THEN 'completed' ELSE 'failed' END AS state,
       r.token, r.host,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.seen_at / 1000.0, 'unixepoch') AS seen_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.ended_at / 1000.0, 'unixepoch') AS ended_at,
       r.ended_at - r.started_at AS took_ms,
       r.ended_because, r.exit_code, r.signal,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.last_success_at / 1000.0, 'unixepoch') AS last_success_at,
       j.skips, j.due_within_ms,
       j.paused_at IS NULL AND COALESCE(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - COALESCE(r.ended_at, r.seen_at, j.created_at) > 2 * j.due_within_ms, FALSE) AS late,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.paused_at / 1000.0, 'unixepoch') AS paused_at, j.paused_by,
       j.finished, j.failed, j.timed_out, j.lost, j.stopped, j.crashed
FROM outbox_job j
LEFT JOIN outbox_job_token t ON t.name = j.name
LEFT JOIN outbox_job_run r ON r.name = j.name AND r.token = t.token
WHERE ?1 IS NULL OR j.name = ?1 ORDER BY j.name LIMIT ?2

-- name: lock_holders
SELECT '' AS lock, '' AS session, '' AS who WHERE FALSE

-- name: lock_terms
-- BEGIN IMMEDIATE has locked all there is.
SELECT shard
FROM outbox_term ORDER BY shard

-- name: may_create
SELECT '', '', '' WHERE FALSE

-- name: message
SELECT id, idempotency_key, channel, target, destination, CASE WHEN payload_bytes <= ?2 THEN payload END AS payload,
       payload_bytes, headers, ordering_key, tenant, replay_of, sent_key, tags,
       priority, shard, revision, status, dead_reason, attempts, max_attempts, deadline_ms,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', available_at / 1000.0, 'unixepoch'), CAST(available_at AS TEXT)) AS available_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', deferred_from / 1000.0, 'unixepoch'), CAST(deferred_from AS TEXT)) AS deferred_from,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', expires_at / 1000.0, 'unixepoch'), CAST(expires_at AS TEXT)) AS expires_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', first_attempt_at / 1000.0, 'unixepoch'), CAST(first_attempt_at AS TEXT)) AS first_attempt_at,
       traceparent, tracestate, last_error, last_status_code, receipt,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'), CAST(created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch'), CAST(finished_at AS TEXT)) AS finished_at
FROM outbox WHERE id = ?1

-- name: message_clock
-- How a message stands by the database's clock.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', now_ms / 1000.0, 'unixepoch') AS now, available_at <= now_ms AS due,
       CAST(available_at - now_ms AS INTEGER) AS due_in_ms, coalesce(expires_at <= now_ms, 0) AS expired,
       CAST(expires_at - now_ms AS INTEGER) AS expires_in_ms,
       CAST(now_ms - first_attempt_at AS INTEGER) AS tried_for_ms,
       CAST(coalesce(deferred_from, available_at) - created_at AS INTEGER) AS delayed_by_ms,
       CAST(created_at - now_ms AS INTEGER) AS created_in_ms, 0 AS rounds
FROM outbox, clock WHERE id = ?1

-- name: message_conditions
  -- The conditions of a filter of messages, behind which rows are looked at.
  AND (?2 IS NULL OR o.status = ?2) AND (?3 IS NULL OR o.channel = ?3) AND (?4 IS NULL OR o.destination = ?4)
  AND (?5 IS NULL OR o.ordering_key = ?5) AND (?6 IS NULL OR o.priority = ?6)
  AND (?7 IS NULL OR o.created_at >= ?7 / 1000) AND (?8 IS NULL OR o.created_at <= ?8 / 1000)
  AND (?10 IS NULL OR o.target = ?10)
  AND (?11 IS NULL OR substr(o.idempotency_key, 1, length(?11)) = ?11)
  AND (?12 IS NULL OR NOT EXISTS (SELECT key, value FROM json_each(?12) EXCEPT SELECT key, value FROM json_each(o.tags)))
  AND (?13 IS NULL OR coalesce(o.tenant, o.destination) = ?13)
  AND (?14 IS NULL OR instr(lower(o.last_error), lower(?14)) > 0)
  AND (?15 IS NULL OR o.attempts >= ?15)
  AND (?16 IS NULL OR EXISTS (
           SELECT 1 FROM outbox_attempt a WHERE a.message_id = o.id AND a.outcome = 'in_doubt' AND (?16 = 0 OR a.epoch = ?16)))
ORDER BY o.id DESC LIMIT ?9

-- name: message_id
SELECT id
FROM outbox WHERE idempotency_key = ?1

-- name: messages
-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority, o.status,
       o.dead_reason, o.attempts,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.available_at / 1000.0, 'unixepoch'), CAST(o.available_at AS TEXT)) AS available_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.deferred_from / 1000.0, 'unixepoch'), CAST(o.deferred_from AS TEXT)) AS deferred_from,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0, 'unixepoch'), CAST(o.created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.first_attempt_at / 1000.0, 'unixepoch'), CAST(o.first_attempt_at AS TEXT)) AS first_attempt_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'), CAST(o.finished_at AS TEXT)) AS finished_at,
       o.last_error, o.last_status_code, o.replay_of,
       o.tenant, o.tags
FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1))

-- name: named
-- Those of the asked that a claim names with their present revision: they may be in flight.
SELECT o.id
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key
WHERE o.id IN (SELECT value FROM json_each(?1))

-- name: naming_claim
-- The claim under which the message may be in flight.
SELECT c.id, c.shard, c.epoch, c.holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', c.claimed_at / 1000.0, 'unixepoch'), CAST(c.claimed_at AS TEXT)) AS claimed_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', c.gate_closed_at / 1000.0, 'unixepoch'), CAST(c.gate_closed_at AS TEXT)) AS gate_closed_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', c.superseded_at / 1000.0, 'unixepoch'), CAST(c.superseded_at AS TEXT)) AS superseded_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.superseded_at + CASE
           WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END) / 1000.0, 'unixepoch') AS settles_at,
       (SELECT l.instance FROM outbox_term_log l WHERE l.shard = c.shard AND l.epoch = c.epoch AND l.holder = c.holder) AS instance
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
JOIN json_each(c.message_ids) AS sent
JOIN outbox o ON o.id = sent.value AND o.status = 'PENDING'
             AND o.revision = json_extract(c.revisions, '$[' || sent.key || ']')
WHERE o.id = ?1

-- name: open_terms
-- The newest term of each shard, where nobody noted its end.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - started_at AS INTEGER) AS age_ms
FROM outbox_term t
WHERE EXISTS (SELECT 1 FROM outbox_term_log l WHERE l.shard = t.shard AND l.epoch = t.epoch AND l.ended_at IS NULL)
ORDER BY t.shard

-- name: operation
SELECT a.id, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', a.at / 1000.0, 'unixepoch'), CAST(a.at AS TEXT)) AS at, a.who, a.action, a.why,
       a.details AS details, a.part_of
FROM outbox_audit a WHERE a.id = ?1

-- name: operation_page
SELECT id, message_id FROM outbox_audit WHERE part_of = ?1 AND id > ?2 ORDER BY id LIMIT ?3

-- name: ordered_before
-- The messages of an ordering key that go out before one of it: the first, and how many, up to 10,000.
SELECT min(id) AS first, count(*) AS waiting FROM (
    SELECT id FROM outbox
    WHERE shard = ?1 AND channel = ?2 AND ordering_key = ?3 AND status = 'PENDING' AND id < ?4
    ORDER BY id LIMIT 10000
) earlier

-- name: ordered_dead
-- The first dead letter of an ordering key before one of its messages: what such a key halts at, where its channel says
-- so. One that was cancelled halts nothing.
SELECT id, dead_reason FROM outbox
WHERE shard = ?1 AND channel = ?2 AND ordering_key = ?3 AND status = 'DEAD' AND id < ?4
  AND dead_reason IS NOT 'cancelled'
ORDER BY id LIMIT 1

-- name: ordered_in_flight
-- A message of an ordering key that is in flight and comes after one of it: that one was redriven meanwhile, and waits.
SELECT o.id
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
CROSS JOIN json_each(c.message_ids) AS sent
CROSS JOIN outbox o ON o.id = sent.value AND o.status = 'PENDING'
                   AND o.revision = json_extract(c.revisions, '$[' || sent.key || ']')
WHERE t.shard = ?1 AND o.shard = t.shard AND o.channel = ?2 AND o.ordering_key = ?3 AND o.id > ?4
ORDER BY o.id LIMIT 1

-- name: outcomes_of
-- The messages whose keys begin so: those that tell of the outcomes of one message.
SELECT id, channel, status, coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'), CAST(created_at AS TEXT)) AS at
FROM outbox WHERE idempotency_key >= ?1 || ':' AND idempotency_key < ?1 || ';' ORDER BY idempotency_key LIMIT ?2

-- name: pause
-- For good is 9999-12-31.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
SELECT ?1, coalesce(now.ms + ?2, 253402214400000), ?3, 'hand', ?4, now.ms FROM now WHERE true
ON CONFLICT (destination) DO UPDATE
SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, pause_kind = excluded.pause_kind,
    reason = excluded.reason, by_hand_at = excluded.by_hand_at

-- name: paused_count
SELECT count(*) AS total FROM outbox_destination WHERE paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER)

-- name: paused_destinations
-- Destinations and channels that are paused: of all, or those of these names. What asked for its pause itself comes last.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch'), CAST(paused_until AS TEXT)) AS paused_until,
       CASE WHEN paused_until < 253402214400000 THEN CAST(paused_until - now.ms AS INTEGER) END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d, now
WHERE d.paused_until > now.ms AND (?1 IS NULL OR d.destination IN (SELECT value FROM json_each(?1)))
ORDER BY CASE d.pause_kind WHEN 'hand' THEN 0 WHEN 'barred' THEN 1 WHEN 'breaker' THEN 2 ELSE 3 END, d.destination
LIMIT ?2

-- name: prepared
-- No trigger gives a hint here.
SELECT 0 AS most FROM (SELECT 1 AS one) none WHERE one = 0

-- name: recurring
-- All recurring messages, or the one of this name.
SELECT name, cron, timezone,
       strftime('%Y-%m-%dT%H:%M:%fZ', fired_for / 1000.0, 'unixepoch') AS fired_for,
       strftime('%Y-%m-%dT%H:%M:%fZ', next_at / 1000.0, 'unixepoch') AS next_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', asked_at / 1000.0, 'unixepoch') AS asked_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', paused_at / 1000.0, 'unixepoch') AS paused_at, paused_by
FROM outbox_recurring WHERE ?1 IS NULL OR name = ?1 ORDER BY name

-- name: recurring_ask
UPDATE outbox_recurring SET asked_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE name = ?1 AND asked_at IS NULL

-- name: recurring_pause
UPDATE outbox_recurring
SET paused_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), paused_by = ?2, next_at = NULL
WHERE name = ?1 AND paused_at IS NULL

-- name: recurring_resume
-- The times that passed meanwhile are nobody's.
UPDATE outbox_recurring
SET paused_at = NULL, paused_by = NULL, since = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE name = ?1 AND paused_at IS NOT NULL

-- name: redrive
-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE outbox AS o
SET status = 'PENDING', revision = o.revision + 1, attempts = 0, dead_reason = NULL, error_hash = NULL,
    finished_at = NULL, first_attempt_at = NULL, deferred_from = NULL,
    available_at = max(asked.now_ms, asked.due_us / 1000),
    expires_at = CASE WHEN o.expires_at <= asked.now_ms THEN NULL ELSE o.expires_at END
FROM (SELECT value ->> 'id' AS id, value ->> 'due_us' AS due_us,
             CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
      FROM json_each(?1)) AS asked
WHERE o.id = asked.id

-- name: replay
-- Rows that repeat others, in the order of those, each with the key that it is given. It waits behind what its ordering key has
-- now. Whatever the table checks of a row as it is born was decided about the first: hence the revision.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision,
                    max_attempts, available_at, traceparent, tracestate, replay_of, sent_key, tags)
SELECT asked.key, o.channel, o.target, o.payload, o.headers, o.ordering_key, o.tenant, o.priority, o.shard, 1, o.max_attempts,
       max(asked.now_ms, asked.due_us / 1000),
       o.traceparent, o.tracestate, o.id, CASE WHEN asked.same_key THEN coalesce(o.sent_key, o.idempotency_key) END, o.tags
FROM (SELECT value ->> 'id' AS id, value ->> 'key' AS key, value ->> 'due_us' AS due_us, value ->> 'same_key' AS same_key,
             CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
      FROM json_each(?1)) AS asked
JOIN outbox o ON o.id = asked.id ORDER BY o.id

-- name: replay_page
-- The entries of a replay, each with the row that repeats its message.
SELECT id, CAST(details ->> 'replay' AS INTEGER) FROM outbox_audit WHERE part_of = ?1 AND id > ?2 ORDER BY id LIMIT ?3

-- name: replayed
-- Those of the asked that were replayed before, unless that was taken back.
SELECT a.message_id FROM outbox_audit a
WHERE a.message_id IN (SELECT value FROM json_each(?1)) AND a.action = 'replay'
  AND NOT EXISTS (SELECT 1 FROM outbox_audit undo
                  WHERE undo.message_id = a.message_id AND undo.id > a.id AND undo.action = 'undo'
                    AND undo.details ->> 'replay' = a.details ->> 'replay')

-- name: replays
-- The rows that were just written, by their keys: which repeats which.
SELECT id, replay_of FROM outbox WHERE idempotency_key IN (SELECT value FROM json_each(?1)) ORDER BY id

-- name: replica_forget
DELETE FROM outbox_replica WHERE seen_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 86400000

-- name: replica_gone
DELETE FROM outbox_replica WHERE id = ?1

-- name: replica_seen
INSERT INTO outbox_replica
    (id, name, version, schema_version, address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble, started_at,
     seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
        CAST(round(unixepoch('subsec') * 1000) AS INTEGER), CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (id) DO UPDATE SET
    seen_at = excluded.seen_at, address = excluded.address, lease_store = excluded.lease_store,
    settings_hash = excluded.settings_hash, runs_by = excluded.runs_by, counted_ms = excluded.counted_ms,
    delivered = excluded.delivered, failed = excluded.failed, trouble = excluded.trouble

-- name: replicas
SELECT id, name, version, schema_version,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - seen_at AS seen_ms
FROM outbox_replica ORDER BY name, id

-- name: resume
-- As good as new: whatever paused it, and by however many failures.
UPDATE outbox_destination
SET paused_until = NULL, paused_by = NULL, pause_kind = NULL, reason = NULL, failures = 0, aside_until = NULL,
    by_hand_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE destination = ?1

-- name: retry
-- Due now. Attempts and age stay: they go on.
UPDATE outbox SET available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), revision = revision + 1
WHERE id IN (SELECT value FROM json_each(?1))

-- name: standing
-- Those of the asked that are there. BEGIN IMMEDIATE has locked them.
SELECT id, status FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id

-- name: status_of
SELECT status FROM outbox WHERE id = ?1

-- name: tags_are_listed
-- A part of the tables here.
SELECT 1

-- name: tenants
-- Who has most of what has been due for longest. Of each priority the first 10,000 messages without an ordering key are looked at,
-- however many wait. Tenants with few are left out.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT channel, tenant, count(*) AS due, CAST((SELECT now_ms FROM clock) - min(available_at) AS INTEGER) AS lag_ms
FROM (
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
) longest
GROUP BY channel, tenant HAVING count(*) >= 100 ORDER BY due DESC, channel, tenant LIMIT 5

-- name: term_runs_by
UPDATE outbox_term_log SET instance = ?1, version = ?2, lease_store = ?3, settings_hash = ?4
WHERE shard = ?5 AND epoch = ?6 AND holder = ?7

-- name: terms
-- The terms of a shard up to an epoch, the newest first, and when the next one began. Two ranges of the primary key: with a
-- subquery for each term MariaDB reads all that are older.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch'), CAST(ended_at AS TEXT)) AS ended_at,
       ended_because, claimed, delivered, failed, in_doubt, instance, version, served_by,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', next_at / 1000.0, 'unixepoch'), CAST(next_at AS TEXT)) AS next_started_at, next_served_by
FROM (
    SELECT l.*, lead(started_at) OVER (ORDER BY epoch) AS next_at, lead(served_by) OVER (ORDER BY epoch) AS next_served_by
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

-- name: terms_of_message
-- The terms that a message has to do with: those of its attempts, the one that led when it was finished, the newest.
SELECT l.shard, l.epoch, l.holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', l.started_at / 1000.0, 'unixepoch'), CAST(l.started_at AS TEXT)) AS started_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', l.ended_at / 1000.0, 'unixepoch'), CAST(l.ended_at AS TEXT)) AS ended_at,
       l.ended_because, l.claimed, l.delivered, l.failed, l.instance, l.version, l.served_by,
       (SELECT n.served_by FROM outbox_term_log n WHERE n.shard = l.shard AND n.epoch > l.epoch ORDER BY n.epoch LIMIT 1) AS next_served_by
FROM outbox o JOIN outbox_term_log l ON l.shard = o.shard
WHERE o.id = ?1 AND l.epoch IN (
    SELECT a.epoch FROM outbox_attempt a WHERE a.message_id = ?1
    UNION
    SELECT * FROM (
        SELECT e.epoch FROM outbox f JOIN outbox_term_log e ON e.shard = f.shard
        WHERE f.id = ?1 AND e.started_at <= f.finished_at ORDER BY e.epoch DESC LIMIT 1)
    UNION
    SELECT t.epoch FROM outbox f JOIN outbox_term t ON t.shard = f.shard WHERE f.id = ?1
)
ORDER BY l.epoch

-- name: there
-- Those of the asked that are there, whoever holds them.
SELECT id FROM outbox WHERE id IN (SELECT value FROM json_each(?1))

-- name: undo
-- Back to what the entries of the redrive say that it overwrote.
UPDATE outbox AS o
SET status = 'DEAD', revision = o.revision + 1, deferred_from = NULL,
    dead_reason = a.details ->> 'dead_reason', attempts = a.details ->> 'attempts',
    error_hash = a.details ->> 'error_hash',
    first_attempt_at = CAST(round(unixepoch(a.details ->> 'first_attempt_at', 'subsec') * 1000) AS INTEGER),
    finished_at = CAST(round(unixepoch(a.details ->> 'finished_at', 'subsec') * 1000) AS INTEGER),
    expires_at = CAST(round(unixepoch(a.details ->> 'expires_at', 'subsec') * 1000) AS INTEGER)
FROM outbox_audit AS a
WHERE a.id IN (SELECT value FROM json_each(?1)) AND o.id = a.message_id

-- name: undoable
-- Of the entries of a redrive, those whose message waits as the redrive left it: no attempt, and nobody's hand, since.
SELECT a.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = a.message_id
WHERE a.id IN (SELECT value FROM json_each(?1))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = a.message_id AND later.id > a.id)

-- name: undoable_replays
-- Of the entries of a replay, those whose row waits as the replay wrote it: no attempt, and nobody's hand, since. With the row, and
-- the message that it repeats.
SELECT a.id, o.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = CAST(a.details ->> 'replay' AS INTEGER)
WHERE a.id IN (SELECT value FROM json_each(?1))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = o.id)

-- name: unsettled_claims
SELECT count(*)
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE c.superseded_at IS NOT NULL

-- name: waits_for
-- What the asked wait for, which are locked: nothing, the end of a deferral, another attempt or the first.
SELECT id, available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS due, deferred_from IS NOT NULL AS deferred,
       first_attempt_at IS NOT NULL AS tried
FROM outbox WHERE id IN (SELECT value FROM json_each(?1))
