-- name: attempts
SELECT number, epoch, holder, coalesce(to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(claimed_at) #>> '{}') AS claimed_at, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       duration_ms, outcome, status_code, error, excerpt,
       (SELECT l.instance FROM outbox o JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = a.epoch AND l.holder = a.holder
        WHERE o.id = a.message_id) AS instance
FROM outbox_attempt a WHERE message_id = $1 ORDER BY id

-- name: audit
INSERT INTO outbox_audit (who, action, why, message_id, details)
VALUES ($1, $2, $3, $4, $5::jsonb)
RETURNING id

-- name: audit_each
-- An entry for each message of an operation: what is about to be overwritten, from which an undo takes it back.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT $1, $2, $3, o.id, jsonb_strip_nulls(jsonb_build_object(
           'idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision,
           'dead_reason', o.dead_reason, 'attempts', o.attempts, 'error_hash', o.error_hash,
           'available_at', CASE WHEN o.status = 'PENDING' THEN o.available_at END,
           'first_attempt_at', o.first_attempt_at, 'finished_at', o.finished_at, 'expires_at', o.expires_at))
FROM outbox o WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($4::json)::bigint)) ORDER BY o.id

-- name: audit_of_message
-- The reason of an operation stands in its own entry.
SELECT a.id, coalesce(to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(a.at) #>> '{}') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details::text AS details, a.part_of
FROM outbox_audit a LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE a.message_id = $1 ORDER BY a.id

-- name: audit_part
-- The entries of the messages of an edit, with what is about to be overwritten.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT $1, $2, $3, asked.id, asked.details::jsonb
FROM json_to_recordset($4::json) AS asked(id bigint, details text) ORDER BY asked.id

-- name: audits
-- Of the newest entries below an id, those that are meant, the newest first. Entries of one message of an operation are left out
-- unless the message, or the operation, is named.
SELECT a.id, coalesce(to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(a.at) #>> '{}') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details::text AS details, a.part_of, a.message_id
FROM (SELECT * FROM outbox_audit l WHERE ($1::bigint IS NULL OR l.message_id = $1) AND ($2::bigint IS NULL OR l.id < $2)
        AND ($9::bigint IS NULL OR l.part_of = $9)
      ORDER BY l.id DESC LIMIT $3) a
LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE ($1::bigint IS NOT NULL OR $9::bigint IS NOT NULL OR a.part_of IS NULL)
  AND ($4::bigint IS NULL OR a.at >= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond')
  AND ($5::bigint IS NULL OR a.at <= timestamptz '1970-01-01 00:00:00+00' + $5::bigint * interval '1 microsecond')
  AND ($6::text IS NULL OR starts_with(a.who, $6)) AND ($7::text IS NULL OR a.action = $7)
ORDER BY a.id DESC LIMIT $8

-- name: audits_end
-- The lowest of the newest ids below one, where there are so many: where a page that looks no further ends.
SELECT l.id FROM outbox_audit l WHERE ($1::bigint IS NULL OR l.id < $1) ORDER BY l.id DESC LIMIT 1 OFFSET $2

-- name: backlog
-- Due messages of a priority, without an ordering key, that are before a message: all of them where its own is lower, else those
-- longer due. How many, up to 10,000, and for how long the first has been due. Read from the index of the poll. And how many of
-- them are of its own tenant, read from the index of turns.
SELECT count(*) AS ahead,
       CASE WHEN isfinite(min(available_at))
            THEN (extract(epoch FROM now() - min(available_at)) * 1000)::bigint END AS oldest_ms,
       (SELECT count(*) FROM (
           SELECT FROM outbox t
           WHERE t.shard = $1 AND t.status = 'PENDING' AND t.ordering_key IS NULL AND t.priority = $2 AND t.available_at <= now()
             AND (((hashtextextended(t.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(t.tenant, t.destination), 0) & 281474976710655))
               = (SELECT (((hashtextextended(o.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655))
                  FROM outbox o WHERE o.id = $4)
             AND (t.available_at, t.id) < (CASE WHEN $2 > $3 THEN timestamptz 'infinity'
                                                ELSE (SELECT available_at FROM outbox WHERE id = $4) END, $4)
           LIMIT 10000) own) AS of_tenant
FROM (
    SELECT available_at FROM outbox
    WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = $2 AND available_at <= now()
      AND (available_at, id) < (CASE WHEN $2 > $3 THEN timestamptz 'infinity'
                                     ELSE (SELECT available_at FROM outbox WHERE id = $4) END, $4)
    ORDER BY available_at, id LIMIT 10000
) before

-- name: cancel
UPDATE outbox
SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = clock_timestamp(),
    error_hash = NULL, deferred_from = NULL
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: channels
-- Reads what the partial indexes hold, and no history. A deferred message has been due since before its deferral; one
-- that was given a time in the past is no older than itself.
SELECT channel, sum(pending)::bigint AS pending, sum(due)::bigint AS due, sum(deferred)::bigint AS deferred,
       sum(dead)::bigint AS dead,
       CASE WHEN isfinite(min(oldest)) THEN (extract(epoch FROM now() - min(oldest)) * 1000)::bigint END AS lag_ms
FROM (
    SELECT channel, count(*) AS pending, count(*) FILTER (WHERE available_at <= now()) AS due,
           count(*) FILTER (WHERE deferred_from IS NOT NULL) AS deferred, 0 AS dead,
           min(greatest(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now()) AS oldest
    FROM outbox WHERE status = 'PENDING' AND ordering_key IS NULL GROUP BY channel
    UNION ALL
    SELECT channel, count(*), count(*) FILTER (WHERE available_at <= now()),
           count(*) FILTER (WHERE deferred_from IS NOT NULL), 0,
           min(greatest(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now())
    FROM outbox WHERE status = 'PENDING' AND ordering_key IS NOT NULL GROUP BY channel
    UNION ALL
    SELECT o.channel, 0, 0, 0, letters, NULL
    FROM (SELECT count(*) AS letters, max(id) AS example FROM outbox WHERE status = 'DEAD' GROUP BY fingerprint) dead
    JOIN outbox o ON o.id = dead.example
) parts
GROUP BY channel ORDER BY channel

-- name: contents
-- What an edit may change of the asked. Their rows are locked by now. No payload is read that is larger than one may be.
SELECT id, idempotency_key, channel, target, CASE WHEN payload_bytes <= $2 THEN payload::text END AS payload, headers::text AS headers, revision
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id

-- name: current_terms
-- A shard that nobody has led yet has epoch 0.
SELECT shard::integer AS shard, epoch, holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - started_at) * 1000)::bigint AS age_ms
FROM outbox_term t WHERE t.epoch > 0 ORDER BY t.shard

-- name: dead_among
-- Of the messages named, the dead letters that meet the conditions.
SELECT o.id, (extract(epoch FROM o.dead_at) * 1000000)::bigint AS dead_at_us, o.fingerprint
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
  AND ($2::text IS NULL OR o.destination = $2)
  AND o.dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
  AND o.dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
  AND ($5::text IS NULL OR position(lower($5) IN lower(o.last_error)) > 0)
  AND ($6::text IS NULL OR o.target = $6)
  AND ($7::text IS NULL OR starts_with(o.idempotency_key, $7))
  AND ($8::text IS NULL OR o.tags @> $8::jsonb)
  AND ($9::text IS NULL OR coalesce(o.tenant, o.destination) = $9)

-- name: dead_fingerprint
-- The next of those that there are: one step in the index, whatever the database knows of its statistics.
SELECT fingerprint FROM outbox WHERE status = 'DEAD' AND fingerprint > $1 ORDER BY fingerprint LIMIT 1

-- name: dead_group
-- How many letters one fingerprint has: of all destinations, or of one. Read from an index alone.
SELECT sum(letters)::bigint AS letters,
       coalesce(to_char(min(first_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(min(first_at)) #>> '{}') AS first_seen,
       coalesce(to_char(max(last_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(max(last_at)) #>> '{}') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
) grouped

-- name: dead_group_matching
-- How many letters of one fingerprint meet other conditions: of all destinations, or of one. Looked for in the rows
-- themselves.
SELECT sum(letters)::bigint AS letters,
       coalesce(to_char(min(first_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(min(first_at)) #>> '{}') AS first_seen,
       coalesce(to_char(max(last_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(max(last_at)) #>> '{}') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
      AND ($5::text IS NULL OR position(lower($5) IN lower(last_error)) > 0)
      AND ($6::text IS NULL OR target = $6)
      AND ($7::text IS NULL OR starts_with(idempotency_key, $7))
      AND ($8::text IS NULL OR tags @> $8::jsonb)
      AND ($9::text IS NULL OR coalesce(tenant, destination) = $9)
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
      AND ($5::text IS NULL OR position(lower($5) IN lower(last_error)) > 0)
      AND ($6::text IS NULL OR target = $6)
      AND ($7::text IS NULL OR starts_with(idempotency_key, $7))
      AND ($8::text IS NULL OR tags @> $8::jsonb)
      AND ($9::text IS NULL OR coalesce(tenant, destination) = $9)
) grouped

-- name: dead_last
-- When the last letter of one fingerprint died, up to a moment.
SELECT (extract(epoch FROM max(dead_at)) * 1000000)::bigint AS last_us FROM outbox
WHERE status = 'DEAD' AND fingerprint = $1 AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond'

-- name: dead_letters
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts::integer AS attempts, o.last_error,
       o.last_status_code, o.fingerprint, o.ordering_key, o.tenant, o.tags::text AS tags,
       coalesce(to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.created_at) #>> '{}') AS created_at,
       coalesce(to_char(o.dead_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.dead_at) #>> '{}') AS dead_at,
       (extract(epoch FROM o.dead_at) * 1000000)::bigint AS dead_at_us
FROM outbox o WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
ORDER BY o.dead_at DESC, o.id DESC

-- name: dead_page
-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Read from an index alone.
SELECT id, (extract(epoch FROM dead_at) * 1000000)::bigint AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
    UNION ALL
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
) page ORDER BY dead_at DESC, id DESC LIMIT $6

-- name: dead_page_matching
-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Those that meet
-- other conditions are looked for in the rows themselves.
SELECT id, (extract(epoch FROM dead_at) * 1000000)::bigint AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
       AND ($7::text IS NULL OR position(lower($7) IN lower(last_error)) > 0)
       AND ($8::text IS NULL OR target = $8)
       AND ($9::text IS NULL OR starts_with(idempotency_key, $9))
       AND ($10::text IS NULL OR tags @> $10::jsonb)
       AND ($11::text IS NULL OR coalesce(tenant, destination) = $11)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
    UNION ALL
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
       AND ($7::text IS NULL OR position(lower($7) IN lower(last_error)) > 0)
       AND ($8::text IS NULL OR target = $8)
       AND ($9::text IS NULL OR starts_with(idempotency_key, $9))
       AND ($10::text IS NULL OR tags @> $10::jsonb)
       AND ($11::text IS NULL OR coalesce(tenant, destination) = $11)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
) page ORDER BY dead_at DESC, id DESC LIMIT $6

-- name: deferred
-- Rows that were put aside or put off, counted, and for how long the oldest has been due: of all destinations, or of one
-- destination or channel.
SELECT destination, channel, count(*) AS waiting,
       CASE WHEN isfinite(min(deferred_from)) THEN (extract(epoch FROM now() - min(deferred_from)) * 1000)::bigint END AS oldest_ms
FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND ($1::text IS NULL OR destination = $1 OR channel = $1)
GROUP BY destination, channel

-- name: destinations
-- What is kept of destinations and channels: of all, or of one.
SELECT destination, coalesce(to_char(paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(paused_until) #>> '{}') AS paused_until,
       CASE WHEN paused_until IS NOT NULL
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms,
       coalesce(paused_until >= '9999-12-31 00:00:00+00', false) AS for_good, paused_by, pause_kind, reason, failures,
       coalesce(to_char(aside_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(aside_until) #>> '{}') AS aside_until,
       CASE WHEN aside_until IS NOT NULL
            THEN (extract(epoch FROM least(aside_until, now() + interval '100 years') - now()) * 1000)::bigint END AS aside_ms
FROM outbox_destination WHERE $1::text IS NULL OR destination = $1

-- name: due_by_destination
-- For whom the messages are that have been due for longest. Of each priority the first 2,500 without an ordering key are looked at,
-- and as many with one, in no order: however many wait.
SELECT destination, channel, count(*) AS due,
       CASE WHEN isfinite(min(available_at)) THEN (extract(epoch FROM now() - min(available_at)) * 1000)::bigint END AS oldest_ms
FROM (
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND available_at <= now() LIMIT 2500)
) looked_at
GROUP BY destination, channel

-- name: durability
SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name

-- name: edit
-- Stays a dead letter. Receivers refuse a key with another body, so one with another body has a new key.
UPDATE outbox SET sent_key = CASE WHEN idempotency_key = $1 THEN sent_key END, idempotency_key = $1, target = $2, payload = $3::jsonb, headers = $4::jsonb, revision = revision + 1
WHERE id = $5

-- name: edit_each
-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE outbox o
SET sent_key = CASE WHEN o.idempotency_key = asked.key THEN o.sent_key END, idempotency_key = asked.key, target = asked.target, headers = asked.headers::jsonb, revision = o.revision + 1
FROM json_to_recordset($1::json) AS asked(id bigint, key text, target text, headers text)
WHERE o.id = asked.id

-- name: envelopes
-- What an edit of many may change of the asked, which is not their payload. Their rows are locked by now.
SELECT id, idempotency_key, channel, target, headers::text AS headers, revision
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id

-- name: figures
SELECT channel, extract(epoch FROM begins_at)::bigint / $2 * $2 AS at_s, max(lag_ms) AS lag_ms,
       sum(delivered)::bigint AS delivered, sum(failed)::bigint AS failed, sum(dead)::bigint AS dead,
       sum(in_doubt)::bigint AS in_doubt, sum(deferred)::bigint AS deferred, sum(ms_10)::bigint AS ms_10,
       sum(ms_25)::bigint AS ms_25, sum(ms_50)::bigint AS ms_50, sum(ms_100)::bigint AS ms_100,
       sum(ms_250)::bigint AS ms_250, sum(ms_500)::bigint AS ms_500, sum(ms_1000)::bigint AS ms_1000,
       sum(ms_2500)::bigint AS ms_2500, sum(ms_5000)::bigint AS ms_5000, sum(ms_10000)::bigint AS ms_10000,
       sum(ms_60000)::bigint AS ms_60000, sum(ms_600000)::bigint AS ms_600000, sum(ms_3600000)::bigint AS ms_3600000,
       sum(ms_more)::bigint AS ms_more
FROM outbox_minute WHERE begins_at >= to_timestamp($1::bigint) AND ($3::text IS NULL OR channel = $3)
GROUP BY channel, at_s ORDER BY channel, at_s

-- name: fleet
SELECT id, name, version, schema_version, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - seen_at) * 1000)::bigint AS seen_ms,
       coalesce(to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(seen_at) #>> '{}') AS seen_at,
       address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble
FROM outbox_replica ORDER BY name, started_at, id LIMIT 1000

-- name: former_key
-- The message that had a key before it was edited, by the newest of as many entries. No index has the keys of former days.
SELECT a.message_id
FROM (SELECT id, action, message_id, details FROM outbox_audit ORDER BY id DESC LIMIT $2) a
WHERE a.action = 'edit' AND a.message_id IS NOT NULL AND a.details ->> 'idempotency_key' = $1
ORDER BY a.id DESC LIMIT 1

-- name: halted_keys
-- The ordering keys of a channel, behind one of them, that a dead letter halts: with that letter, the first message that waits, and
-- how many do, up to a number. Looks at so many dead letters of the channel, and at their keys: a million of them take no longer.
WITH letter AS MATERIALIZED (
    SELECT ordering_key, min(id) AS id FROM (
        SELECT ordering_key, id FROM outbox
        WHERE shard = $1 AND channel = $2 AND ordering_key >= coalesce($3, '') AND ordering_key IS DISTINCT FROM $3
          AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS DISTINCT FROM 'cancelled'
        ORDER BY ordering_key, id LIMIT $4
    ) looked_at GROUP BY ordering_key
), halted AS MATERIALIZED (
    SELECT letter.ordering_key, letter.id AS dead_letter, head.id AS first_waiting
    FROM letter CROSS JOIN LATERAL (
        SELECT w.id FROM outbox w
        WHERE w.shard = $1 AND w.channel = $2 AND w.ordering_key = letter.ordering_key AND w.status = 'PENDING'
          AND hashtextextended(w.ordering_key, hashtextextended(w.channel, 0))
            = hashtextextended(letter.ordering_key, hashtextextended($2, 0))
        ORDER BY w.id LIMIT 1
    ) head
    WHERE head.id > letter.id
    ORDER BY letter.ordering_key LIMIT $5
)
SELECT $2 AS channel, halted.ordering_key, halted.dead_letter, d.dead_reason,
       coalesce(to_char(d.dead_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(d.dead_at) #>> '{}') AS dead_at,
       halted.first_waiting,
       (SELECT count(*) FROM (
           SELECT FROM outbox w
           WHERE w.shard = $1 AND w.channel = $2 AND w.ordering_key = halted.ordering_key AND w.status = 'PENDING'
             AND hashtextextended(w.ordering_key, hashtextextended(w.channel, 0))
               = hashtextextended(halted.ordering_key, hashtextextended($2, 0))
           LIMIT $6) behind) AS waiting
FROM halted JOIN outbox d ON d.id = halted.dead_letter
ORDER BY halted.ordering_key

-- name: halted_keys_end
-- The ordering key with which the last look at so many dead letters ended: there the next one begins. None where there were fewer.
SELECT ordering_key FROM outbox
WHERE shard = $1 AND channel = $2 AND ordering_key >= coalesce($3, '') AND ordering_key IS DISTINCT FROM $3
  AND status = 'DEAD' AND ordering_key IS NOT NULL AND dead_reason IS DISTINCT FROM 'cancelled'
ORDER BY ordering_key, id LIMIT 1 OFFSET $4

-- name: halting_letters
-- Those of the asked that halt their ordering key where its channel says so, and the first message that waits behind each.
SELECT o.id, head.id AS first_waiting
FROM outbox o CROSS JOIN LATERAL (
    SELECT w.id FROM outbox w
    WHERE w.shard = o.shard AND w.channel = o.channel AND w.ordering_key = o.ordering_key AND w.status = 'PENDING'
      AND hashtextextended(w.ordering_key, hashtextextended(w.channel, 0))
        = hashtextextended(o.ordering_key, hashtextextended(o.channel, 0))
    ORDER BY w.id LIMIT 1
) head
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
  AND o.dead_reason IS DISTINCT FROM 'cancelled' AND head.id > o.id
  AND NOT EXISTS (
      SELECT FROM outbox d
      WHERE d.shard = o.shard AND d.channel = o.channel AND d.ordering_key = o.ordering_key AND d.id < o.id
        AND d.status = 'DEAD' AND d.dead_reason IS DISTINCT FROM 'cancelled')

-- name: held_back
-- Who keeps dead rows of this database from being removed by a vacuum, of all the one who has for longest: a session, a
-- prepared transaction or a replication slot. One row, also where nobody does. A role without pg_read_all_stats sees of the
-- sessions of others neither state nor times.
SELECT pg_has_role('pg_read_all_stats', 'USAGE')::integer::bigint AS sees_all,
       coalesce((SELECT n_dead_tup FROM pg_catalog.pg_stat_user_tables WHERE relid = 'outbox'::regclass), 0) AS dead_rows,
       kind, name, who, since, age_ms, transactions
FROM (SELECT) one LEFT JOIN LATERAL (
    SELECT 'session' AS kind, pid::text AS name,
           concat_ws(', ', nullif(application_name, ''), usename, state)::text AS who, coalesce(to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(xact_start) #>> '{}') AS since,
           (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS age_ms,
           age(coalesce(backend_xmin, backend_xid))::bigint AS transactions
    FROM pg_catalog.pg_stat_activity
    WHERE coalesce(backend_xmin, backend_xid) IS NOT NULL AND pid <> pg_backend_pid()
      AND (datname = current_database() OR datname IS NULL) AND backend_type IS DISTINCT FROM 'autovacuum worker'
    UNION ALL
    SELECT 'prepared', gid, owner::text, coalesce(to_char(prepared AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(prepared) #>> '{}'),
           (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint, age(transaction)::bigint
    FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'slot', slot_name::text, slot_type, NULL, NULL, age(xmin)::bigint
    FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL
    ORDER BY transactions DESC, age_ms DESC NULLS LAST LIMIT 1
) holder ON true

-- name: ids_below
-- The lowest id of so many rows down the primary key, and how many rows there are.
SELECT min(below.id) AS lowest, count(*) AS looked_at
FROM (SELECT id FROM outbox WHERE id < $1 ORDER BY id DESC LIMIT $2) below

-- name: ids_between
-- Of the rows between two ids, those that a filter means, the newest first.
SELECT o.id
FROM outbox o
WHERE o.id >= $1 AND o.id < $17

-- name: ids_by_key
-- What has a key that begins so, as long as it is little. The order makes it use the index.
SELECT id FROM outbox WHERE idempotency_key >= $1 AND idempotency_key < $2 ORDER BY idempotency_key LIMIT $3

-- name: ids_by_tag
-- What has all of the tags, as long as it is little; $1 is one of them, for the other databases. The plan is that for all there is: for
-- a few rows the whole table could look cheaper.
WITH tagged AS MATERIALIZED (SELECT id FROM outbox WHERE tags @> $2::jsonb)
SELECT id FROM tagged WHERE $1::text IS NOT NULL LIMIT $3

-- name: ids_dead
-- Dead letters, as long as they are few: their index holds nothing else. The order makes it use that.
SELECT id FROM outbox WHERE status = 'DEAD' ORDER BY fingerprint, dead_at, id LIMIT $1

-- name: ids_in_doubt
-- What was ever in doubt, or was of one term, as long as that is little: attempts that are recorded are few.
SELECT DISTINCT message_id AS id FROM outbox_attempt
WHERE outcome = 'in_doubt' AND ($1::bigint = 0 OR epoch = $1) LIMIT $2

-- name: ids_pending
-- What waits, as long as that is little: the two indexes of the poll hold nothing else. The order makes it use them.
(SELECT id FROM outbox WHERE status = 'PENDING' AND ordering_key IS NULL
 ORDER BY shard, priority, available_at, id LIMIT $1)
UNION ALL
(SELECT id FROM outbox WHERE status = 'PENDING' AND ordering_key IS NOT NULL
 ORDER BY shard, hashtextextended(ordering_key, hashtextextended(channel, 0)), id LIMIT $1)
LIMIT $1

-- name: invalid_target_of
-- Whether the target of a message is known to be gone.
SELECT t.id, t.channel, t.target, t.reason, coalesce(to_char(t.observed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(t.observed_at) #>> '{}') AS observed_at
FROM outbox o JOIN outbox_invalid_target t
  ON t.channel = o.channel AND md5(t.target) = md5(o.target) AND t.target = o.target
WHERE o.id = $1

-- name: invalid_targets
-- Targets that are known to be gone, the last recorded first.
SELECT id, channel, target, reason, coalesce(to_char(observed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(observed_at) #>> '{}') AS observed_at FROM outbox_invalid_target
WHERE ($1::text IS NULL OR channel = $1)
  AND ($2::json IS NULL OR target = ANY (ARRAY(SELECT json_array_elements_text($2::json))))
  AND ($3::bigint IS NULL
       OR observed_at <= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond')
  AND id < $4
ORDER BY id DESC LIMIT $5

-- name: invalid_targets_clear
-- One that was found to be gone once more since it was chosen by its age stays.
DELETE FROM outbox_invalid_target
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND ($2::bigint IS NULL
       OR observed_at <= timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond')

-- name: invalid_targets_count
SELECT count(*) AS total FROM outbox_invalid_target
WHERE ($1::text IS NULL OR channel = $1)
  AND ($2::json IS NULL OR target = ANY (ARRAY(SELECT json_array_elements_text($2::json))))
  AND ($3::bigint IS NULL
       OR observed_at <= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond')

-- name: job_pause
UPDATE outbox_job SET paused_at = clock_timestamp(), paused_by = $2 WHERE name = $1 AND paused_at IS NULL

-- name: job_resume
UPDATE outbox_job SET paused_at = NULL, paused_by = NULL WHERE name = $1 AND paused_at IS NOT NULL

-- name: job_runs
-- The runs of a job below a token, the newest first. What a run wrote is long: it is read of one run only.
SELECT r.token, r.holder, r.host, r.pid, r.command,
       coalesce(to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(r.started_at) #>> '{}') AS started_at,
       coalesce(to_char(r.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(r.seen_at) #>> '{}') AS seen_at,
       coalesce(to_char(r.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(r.ended_at) #>> '{}') AS ended_at,
       (extract(epoch FROM r.ended_at - r.started_at) * 1000)::bigint AS took_ms,
       r.ended_because, r.exit_code, r.signal, CASE WHEN $4 = 1 THEN r.tail END AS tail
FROM outbox_job_run r WHERE r.name = $1 AND r.token < $2 ORDER BY r.token DESC LIMIT $3

-- name: jobs
-- The jobs that have run somewhere, or the one of this name, each with its last run. One is late where too long ago
-- a run ended, or was last known to go on.
SELECT j.name,
       CASE WHEN r.id IS NOT NULL AND r.ended_because IS NULL THEN 'running' WHEN j.paused_at IS NOT NULL THEN 'paused'
            WHEN r.id IS NULL THEN 'never' WHEN r.ended_because = 'finished' THEN 'completed' ELSE 'failed' END AS state,
       r.token, r.host,
       coalesce(to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(r.started_at) #>> '{}') AS started_at,
       coalesce(to_char(r.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(r.seen_at) #>> '{}') AS seen_at,
       coalesce(to_char(r.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(r.ended_at) #>> '{}') AS ended_at,
       (extract(epoch FROM r.ended_at - r.started_at) * 1000)::bigint AS took_ms,
       r.ended_because, r.exit_code, r.signal,
       coalesce(to_char(j.last_success_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(j.last_success_at) #>> '{}') AS last_success_at,
       j.skips, j.due_within_ms,
       j.paused_at IS NULL AND COALESCE((extract(epoch FROM clock_timestamp() - coalesce(r.ended_at, r.seen_at, j.created_at)) * 1000)::bigint > 2 * j.due_within_ms, FALSE) AS late,
       coalesce(to_char(j.paused_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(j.paused_at) #>> '{}') AS paused_at, j.paused_by,
       j.finished, j.failed, j.timed_out, j.lost, j.stopped, j.crashed
FROM outbox_job j
LEFT JOIN outbox_job_token t ON t.name = j.name
LEFT JOIN outbox_job_run r ON r.name = j.name AND r.token = t.token
WHERE $1::text IS NULL OR j.name = $1 ORDER BY j.name LIMIT $2

-- name: lock_holders
-- Sessions of others that have held an advisory lock of the outbox for 5 s, as far as this role may see since when. A poller's own
-- sessions hold one of them while it sleeps.
SELECT known.lock::text AS lock, a.pid::text AS session, concat_ws(', ', a.usename, nullif(a.application_name, ''))::text AS who
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
JOIN (VALUES ('claims', 'outbox'::regclass::oid::bigint << 16), ('hints', -('outbox'::regclass::oid::bigint << 16))) known(lock, key)
  ON known.key = (l.classid::bigint << 32 | l.objid::bigint)
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  AND l.pid <> pg_backend_pid() AND NOT (a.usename = current_user AND a.application_name = 'outbox')
  AND coalesce(a.state_change < clock_timestamp() - interval '5 s', true)
ORDER BY 1, l.pid LIMIT 9

-- name: lock_terms
-- Nobody claims until this transaction ends.
SELECT shard::integer
FROM outbox_term ORDER BY shard FOR UPDATE

-- name: may_create
-- Two ways: a grant, or the schema itself, which whoever owns it may give rights on. `public` belongs to pg_database_owner, and that is
-- whoever owns the database. A group is named where somebody in it is not the tables' owner. The last column is empty for a grant.
SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, quote_ident(n.nspname), ''
FROM pg_class t
JOIN pg_namespace n ON n.oid = t.relnamespace
CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE t.oid = 'outbox'::regclass AND a.privilege_type = 'CREATE'
  AND a.grantee NOT IN (n.nspowner, t.relowner) AND NOT coalesce(r.rolsuper, false)
UNION ALL
SELECT quote_ident(o.rolname), quote_ident(n.nspname), quote_ident(pg_get_userbyid(t.relowner))
FROM pg_class t
JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_database d ON d.datname = current_database()
JOIN pg_roles o ON o.oid = CASE pg_get_userbyid(n.nspowner) WHEN 'pg_database_owner' THEN d.datdba ELSE n.nspowner END
WHERE t.oid = 'outbox'::regclass AND NOT o.rolsuper
  AND EXISTS (
      SELECT 1 FROM pg_roles r
      WHERE r.rolcanlogin AND NOT r.rolsuper
        AND pg_has_role(r.oid, o.oid, 'MEMBER') AND NOT pg_has_role(r.oid, t.relowner, 'MEMBER'))
ORDER BY 1

-- name: message
SELECT id, idempotency_key, channel, target, destination,
       CASE WHEN payload_bytes <= $2 THEN payload::text END AS payload, payload_bytes::bigint AS payload_bytes, headers::text AS headers,
       ordering_key, tenant, replay_of, sent_key, tags::text AS tags, priority::integer AS priority, shard::integer AS shard,
       revision, status, dead_reason,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts, deadline_ms,
       coalesce(to_char(available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(available_at) #>> '{}') AS available_at, coalesce(to_char(deferred_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(deferred_from) #>> '{}') AS deferred_from,
       coalesce(to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(expires_at) #>> '{}') AS expires_at, coalesce(to_char(first_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(first_attempt_at) #>> '{}') AS first_attempt_at,
       traceparent, tracestate, last_error, last_status_code, receipt, coalesce(to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(created_at) #>> '{}') AS created_at,
       coalesce(to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(finished_at) #>> '{}') AS finished_at
FROM outbox WHERE id = $1

-- name: message_clock
-- How a message stands by the database's clock.
SELECT coalesce(to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(now()) #>> '{}') AS now, available_at <= now() AS due,
       CASE WHEN isfinite(available_at)
            THEN (extract(epoch FROM available_at - now()) * 1000)::bigint END AS due_in_ms,
       coalesce(expires_at <= now(), false) AS expired,
       CASE WHEN isfinite(expires_at) THEN (extract(epoch FROM expires_at - now()) * 1000)::bigint END AS expires_in_ms,
       CASE WHEN isfinite(first_attempt_at)
            THEN (extract(epoch FROM now() - first_attempt_at) * 1000)::bigint END AS tried_for_ms,
       CASE WHEN isfinite(coalesce(deferred_from, available_at)) AND isfinite(created_at)
            THEN (extract(epoch FROM coalesce(deferred_from, available_at) - created_at) * 1000)::bigint END AS delayed_by_ms,
       CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at - now()) * 1000)::bigint END AS created_in_ms,
       false AS rounds
FROM outbox WHERE id = $1

-- name: message_conditions
  -- The conditions of a filter of messages, behind which rows are looked at.
  AND ($2::text IS NULL OR o.status = $2) AND ($3::text IS NULL OR o.channel = $3)
  AND ($4::text IS NULL OR o.destination = $4) AND ($5::text IS NULL OR o.ordering_key = $5)
  AND ($6::bigint IS NULL OR o.priority = $6)
  AND ($7::bigint IS NULL
       OR o.created_at >= timestamptz '1970-01-01 00:00:00+00' + $7::bigint * interval '1 microsecond')
  AND ($8::bigint IS NULL
       OR o.created_at <= timestamptz '1970-01-01 00:00:00+00' + $8::bigint * interval '1 microsecond')
  AND ($10::text IS NULL OR o.target = $10)
  AND ($11::text IS NULL OR starts_with(o.idempotency_key, $11))
  AND ($12::text IS NULL OR o.tags @> $12::jsonb)
  AND ($13::text IS NULL OR coalesce(o.tenant, o.destination) = $13)
  AND ($14::text IS NULL OR position(lower($14) IN lower(o.last_error)) > 0)
  AND ($15::bigint IS NULL OR o.attempts >= $15)
  AND ($16::bigint IS NULL OR EXISTS (
           SELECT FROM outbox_attempt a WHERE a.message_id = o.id AND a.outcome = 'in_doubt' AND ($16 = 0 OR a.epoch = $16)))
ORDER BY o.id DESC LIMIT $9

-- name: message_id
SELECT id
FROM outbox WHERE idempotency_key = $1

-- name: messages
-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority::integer AS priority,
       o.status, o.dead_reason, o.attempts::integer AS attempts, coalesce(to_char(o.available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.available_at) #>> '{}') AS available_at,
       coalesce(to_char(o.deferred_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.deferred_from) #>> '{}') AS deferred_from, coalesce(to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.created_at) #>> '{}') AS created_at,
       coalesce(to_char(o.first_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.first_attempt_at) #>> '{}') AS first_attempt_at,
       coalesce(to_char(o.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.finished_at) #>> '{}') AS finished_at, o.last_error, o.last_status_code, o.replay_of,
       o.tenant, o.tags::text AS tags
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: named
-- Those of the asked that a claim names with their present revision: they may be in flight.
SELECT o.id
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: naming_claim
-- The claim under which the message may be in flight.
SELECT c.id::text AS id, c.shard::integer AS shard, c.epoch, c.holder, coalesce(to_char(c.claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.claimed_at) #>> '{}') AS claimed_at,
       coalesce(to_char(c.gate_closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.gate_closed_at) #>> '{}') AS gate_closed_at, coalesce(to_char(c.superseded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.superseded_at) #>> '{}') AS superseded_at,
       coalesce(to_char((c.superseded_at + interval '1 ms'
               * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
       ) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(c.superseded_at + interval '1 ms'
               * CASE WHEN c.gate_closed_at IS NULL THEN c.settling_ms ELSE c.settling_closed_ms END
       ) #>> '{}') AS settles_at,
       (SELECT l.instance FROM outbox_term_log l WHERE l.shard = c.shard AND l.epoch = c.epoch AND l.holder = c.holder) AS instance
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
WHERE o.id = $1

-- name: open_terms
-- The newest term of each shard, where nobody noted its end.
SELECT shard::integer AS shard, epoch, holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - started_at) * 1000)::bigint AS age_ms
FROM outbox_term t
WHERE EXISTS (SELECT 1 FROM outbox_term_log l WHERE l.shard = t.shard AND l.epoch = t.epoch AND l.ended_at IS NULL)
ORDER BY t.shard

-- name: operation
SELECT a.id, coalesce(to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(a.at) #>> '{}') AS at, a.who, a.action, a.why,
       a.details::text AS details, a.part_of
FROM outbox_audit a WHERE a.id = $1

-- name: operation_page
SELECT id, message_id FROM outbox_audit WHERE part_of = $1 AND id > $2 ORDER BY id LIMIT $3

-- name: ordered_before
-- The messages of an ordering key that go out before one of it: the first, and how many, up to 10,000.
SELECT min(id) AS first, count(*) AS waiting FROM (
    SELECT id FROM outbox
    WHERE shard = $1 AND channel = $2 AND ordering_key = $3 AND status = 'PENDING' AND id < $4
      AND hashtextextended(ordering_key, hashtextextended(channel, 0)) = hashtextextended($3, hashtextextended($2, 0))
    ORDER BY id LIMIT 10000
) earlier

-- name: ordered_dead
-- The first dead letter of an ordering key before one of its messages: what such a key halts at, where its channel says
-- so. One that was cancelled halts nothing.
SELECT id, dead_reason FROM outbox
WHERE shard = $1 AND channel = $2 AND ordering_key = $3 AND status = 'DEAD' AND id < $4
  AND dead_reason IS DISTINCT FROM 'cancelled'
ORDER BY id LIMIT 1

-- name: ordered_in_flight
-- A message of an ordering key that is in flight and comes after one of it: that one was redriven meanwhile, and waits.
SELECT o.id
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
WHERE t.shard = $1 AND o.shard = t.shard AND o.channel = $2 AND o.ordering_key = $3 AND o.id > $4
ORDER BY o.id LIMIT 1

-- name: outcomes_of
-- The messages whose keys begin so: those that tell of the outcomes of one message. The order makes it use the index.
SELECT id, channel, status,
       coalesce(to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(created_at) #>> '{}') AS at
FROM outbox WHERE idempotency_key >= $1 || ':' AND idempotency_key < $1 || ';' ORDER BY idempotency_key LIMIT $2

-- name: pause
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
VALUES ($1, coalesce(now() + $2::bigint * interval '1 ms', '9999-12-31 00:00:00+00'), $3, 'hand', $4, now())
ON CONFLICT (destination) DO UPDATE
SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, pause_kind = excluded.pause_kind,
    reason = excluded.reason, by_hand_at = excluded.by_hand_at

-- name: paused_count
SELECT count(*) AS total FROM outbox_destination WHERE paused_until > now()

-- name: paused_destinations
-- Destinations and channels that are paused: of all, or those of these names. What asked for its pause itself comes last.
SELECT destination, coalesce(to_char(paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(paused_until) #>> '{}') AS paused_until,
       CASE WHEN paused_until < '9999-12-31 00:00:00+00'
            THEN (extract(epoch FROM paused_until - now()) * 1000)::bigint END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d
WHERE d.paused_until > now() AND ($1::text IS NULL OR d.destination IN (SELECT json_array_elements_text($1::json)))
ORDER BY CASE d.pause_kind WHEN 'hand' THEN 0 WHEN 'barred' THEN 1 WHEN 'breaker' THEN 2 ELSE 3 END, d.destination
LIMIT $2

-- name: prepared
-- How many transactions may be prepared at once, where a hint would make them fail: the trigger is on, and no role does without.
SELECT setting::bigint AS most FROM pg_settings
WHERE name = 'max_prepared_transactions' AND setting <> '0'
  AND EXISTS (SELECT FROM pg_trigger
              WHERE tgrelid = 'outbox'::regclass AND tgname = 'outbox_wakeup' AND tgenabled <> 'D')
  AND NOT EXISTS (SELECT FROM pg_db_role_setting CROSS JOIN unnest(setconfig) AS config
                  WHERE lower(config) = 'outbox.wakeup=off')

-- name: recurring
-- All recurring messages, or the one of this name.
SELECT name, cron, timezone,
       coalesce(to_char(fired_for AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(fired_for) #>> '{}') AS fired_for,
       coalesce(to_char(next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(next_at) #>> '{}') AS next_at,
       coalesce(to_char(asked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(asked_at) #>> '{}') AS asked_at,
       coalesce(to_char(paused_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_json(paused_at) #>> '{}') AS paused_at, paused_by
FROM outbox_recurring WHERE $1::text IS NULL OR name = $1 ORDER BY name

-- name: recurring_ask
UPDATE outbox_recurring SET asked_at = clock_timestamp() WHERE name = $1 AND asked_at IS NULL

-- name: recurring_pause
UPDATE outbox_recurring SET paused_at = clock_timestamp(), paused_by = $2, next_at = NULL WHERE name = $1 AND paused_at IS NULL

-- name: recurring_resume
-- The times that passed meanwhile are nobody's.
UPDATE outbox_recurring SET paused_at = NULL, paused_by = NULL, since = clock_timestamp() WHERE name = $1 AND paused_at IS NOT NULL

-- name: redrive
-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE outbox o
SET status = 'PENDING', revision = o.revision + 1, attempts = 0, dead_reason = NULL, error_hash = NULL,
    finished_at = NULL, first_attempt_at = NULL, deferred_from = NULL,
    available_at = greatest(clock_timestamp(),
                            timestamptz '1970-01-01 00:00:00+00' + asked.due_us * interval '1 microsecond'),
    expires_at = CASE WHEN o.expires_at <= now() THEN NULL ELSE o.expires_at END
FROM json_to_recordset($1::json) AS asked(id bigint, due_us bigint)
WHERE o.id = asked.id

-- name: replay
-- Rows that repeat others, in the order of those, each with the key that it is given. It waits behind what its ordering key has
-- now. Whatever the table checks of a row as it is born was decided about the first: hence the revision.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision,
                    max_attempts, available_at, traceparent, tracestate, replay_of, sent_key, tags)
SELECT asked.key, o.channel, o.target, o.payload, o.headers, o.ordering_key, o.tenant, o.priority, o.shard, 1, o.max_attempts,
       greatest(clock_timestamp(), timestamptz '1970-01-01 00:00:00+00' + asked.due_us * interval '1 microsecond'),
       o.traceparent, o.tracestate, o.id, CASE WHEN asked.same_key THEN coalesce(o.sent_key, o.idempotency_key) END, o.tags
FROM json_to_recordset($1::json) AS asked(id bigint, key text, due_us bigint, same_key boolean)
JOIN outbox o ON o.id = asked.id ORDER BY o.id

-- name: replay_page
-- The entries of a replay, each with the row that repeats its message.
SELECT id, (details ->> 'replay')::bigint FROM outbox_audit WHERE part_of = $1 AND id > $2 ORDER BY id LIMIT $3

-- name: replayed
-- Those of the asked that were replayed before, unless that was taken back.
SELECT a.message_id FROM outbox_audit a
WHERE a.message_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND a.action = 'replay'
  AND NOT EXISTS (SELECT 1 FROM outbox_audit undo
                  WHERE undo.message_id = a.message_id AND undo.id > a.id AND undo.action = 'undo'
                    AND undo.details ->> 'replay' = a.details ->> 'replay')

-- name: replays
-- The rows that were just written, by their keys: which repeats which.
SELECT id, replay_of FROM outbox WHERE idempotency_key = ANY (ARRAY(SELECT json_array_elements_text($1::json))) ORDER BY id

-- name: replica_forget
DELETE FROM outbox_replica WHERE seen_at < now() - interval '1 day'

-- name: replica_gone
DELETE FROM outbox_replica WHERE id = $1

-- name: replica_seen
INSERT INTO outbox_replica (id, name, version, schema_version, address, lease_store, settings_hash, runs_by, counted_ms, delivered, failed, trouble)
VALUES ($1, $2, $3, $4::bigint::integer, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (id) DO UPDATE SET
    seen_at = now(), address = excluded.address, lease_store = excluded.lease_store, settings_hash = excluded.settings_hash,
    runs_by = excluded.runs_by, counted_ms = excluded.counted_ms, delivered = excluded.delivered, failed = excluded.failed,
    trouble = excluded.trouble

-- name: replicas
SELECT id, name, version, schema_version, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - seen_at) * 1000)::bigint AS seen_ms
FROM outbox_replica ORDER BY name, id

-- name: resume
-- As good as new: whatever paused it, and by however many failures.
UPDATE outbox_destination
SET paused_until = NULL, paused_by = NULL, pause_kind = NULL, reason = NULL, failures = 0, aside_until = NULL,
    by_hand_at = now()
WHERE destination = $1

-- name: retry
-- Due now. Attempts and age stay: they go on.
UPDATE outbox SET available_at = clock_timestamp(), revision = revision + 1
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: row_lockers
-- Sessions of others that have locked these messages. A row names who locked it last: a transaction, of which its session holds the
-- lock. (Where several share a row it names none of them.) A transaction that is over has no such lock any more.
SELECT 'rows' AS lock, l.pid::text AS session,
  concat_ws(', ', a.usename, nullif(a.application_name, ''), a.state,
            'since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))::text AS who
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid()
  AND NOT (a.usename = current_user AND a.application_name = 'outbox')
  AND l.transactionid IN (SELECT o.xmax FROM outbox o WHERE o.id = ANY ($1::text::bigint[]))
ORDER BY l.pid LIMIT 9

-- name: sees_system
-- Aurora's servers share their storage, and need no name.
SELECT to_regproc('aurora_version') IS NOT NULL OR has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')

-- name: standing
-- Those of the asked that are there, locked, so that nobody decides about them meanwhile. What a transaction of somebody else
-- holds is left out: claims wait for whoever waits here.
SELECT id, status FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id
FOR UPDATE SKIP LOCKED

-- name: status_of
SELECT status FROM outbox WHERE id = $1

-- name: tags_are_listed
-- A part of the tables here.
SELECT true

-- name: tenants
-- Who has most of what has been due for longest. Of each priority the first 10,000 messages without an ordering key are looked at,
-- however many wait. Tenants with few are left out.
SELECT channel, tenant, count(*) AS due,
       CASE WHEN isfinite(min(available_at)) THEN (extract(epoch FROM now() - min(available_at)) * 1000)::bigint END AS lag_ms
FROM (
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
) longest
GROUP BY channel, tenant HAVING count(*) >= 100 ORDER BY due DESC, channel, tenant LIMIT 5

-- name: term_runs_by
UPDATE outbox_term_log SET instance = $1, version = $2, lease_store = $3, settings_hash = $4
WHERE shard = $5::bigint::smallint AND epoch = $6 AND holder = $7

-- name: terms
-- The terms of a shard up to an epoch, the newest first, and when the next one began. Two ranges of the primary key: with a
-- subquery for each term MariaDB reads all that are older.
SELECT shard::integer AS shard, epoch, holder,
       coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(ended_at) #>> '{}') AS ended_at,
       ended_because, claimed, delivered, failed, in_doubt, instance, version, served_by,
       coalesce(to_char(next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(next_at) #>> '{}') AS next_started_at, next_served_by
FROM (
    SELECT l.*, lead(started_at) OVER (ORDER BY epoch) AS next_at, lead(served_by) OVER (ORDER BY epoch) AS next_served_by
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

-- name: terms_of_message
-- The terms that a message has to do with: those of its attempts, the one that led when it was finished, the newest.
SELECT l.shard::integer AS shard, l.epoch, l.holder, coalesce(to_char(l.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(l.started_at) #>> '{}') AS started_at,
       coalesce(to_char(l.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(l.ended_at) #>> '{}') AS ended_at, l.ended_because, l.claimed, l.delivered, l.failed, l.instance, l.version, l.served_by,
       (SELECT n.served_by FROM outbox_term_log n WHERE n.shard = l.shard AND n.epoch > l.epoch ORDER BY n.epoch LIMIT 1) AS next_served_by
FROM outbox o
CROSS JOIN LATERAL (
    SELECT a.epoch FROM outbox_attempt a WHERE a.message_id = o.id
    UNION
    (SELECT e.epoch FROM outbox_term_log e WHERE e.shard = o.shard AND e.started_at <= o.finished_at
     ORDER BY e.epoch DESC LIMIT 1)
    UNION
    SELECT t.epoch FROM outbox_term t WHERE t.shard = o.shard
) meant
JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = meant.epoch
WHERE o.id = $1 ORDER BY l.epoch

-- name: there
-- Those of the asked that are there, whoever holds them.
SELECT id FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: undo
-- Back to what the entries of the redrive say that it overwrote.
UPDATE outbox o
SET status = 'DEAD', revision = o.revision + 1, deferred_from = NULL,
    dead_reason = a.details ->> 'dead_reason', attempts = (a.details ->> 'attempts')::smallint,
    error_hash = a.details ->> 'error_hash',
    first_attempt_at = (a.details ->> 'first_attempt_at')::timestamptz,
    finished_at = (a.details ->> 'finished_at')::timestamptz,
    expires_at = (a.details ->> 'expires_at')::timestamptz
FROM outbox_audit a
WHERE a.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.id = a.message_id

-- name: undoable
-- Of the entries of a redrive, those whose message waits as the redrive left it: no attempt, and nobody's hand, since.
SELECT a.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = a.message_id
WHERE a.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = a.message_id AND later.id > a.id)

-- name: undoable_replays
-- Of the entries of a replay, those whose row waits as the replay wrote it: no attempt, and nobody's hand, since. With the row, and
-- the message that it repeats.
SELECT a.id, o.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = (a.details ->> 'replay')::bigint
WHERE a.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = o.id)

-- name: unsettled_claims
SELECT count(*)
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c
    WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch AND c.superseded_at IS NOT NULL OFFSET 0) c

-- name: waits_for
-- What the asked wait for, which are locked: nothing, the end of a deferral, another attempt or the first.
SELECT id, available_at <= clock_timestamp() AS due, deferred_from IS NOT NULL AS deferred,
       first_attempt_at IS NOT NULL AS tried
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
