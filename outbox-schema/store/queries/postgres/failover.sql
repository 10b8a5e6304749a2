-- name: awaited
-- Who polled in the ten seconds before the last that the log knows, was seen of late, and has told nothing of this change.
WITH newest AS (
    SELECT split_part(holder, '.', 1) AS id, started_at, ended_at
    FROM outbox_term_log WHERE shard = $1::bigint ORDER BY epoch DESC LIMIT 100
)
SELECT DISTINCT r.id FROM newest n JOIN outbox_replica r ON r.id = n.id
WHERE r.id <> $2
  AND coalesce(n.ended_at, 'infinity') >= (SELECT max(greatest(started_at, ended_at)) FROM newest) - interval '10 seconds'
  AND r.seen_at >= (SELECT max(seen_at) FROM outbox_replica) - interval '75 seconds'
  AND NOT EXISTS (SELECT FROM (SELECT who, action, why FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
                  WHERE a.action = 'failover' AND a.who = r.id AND a.why = $3)

-- name: claim
-- A claim that a failover lost, made again of what is left of it. Its term is over, and the database may have forgotten it: then no
-- term that begins would supersede it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms, at_most_once,
                          gate_closed_at, superseded_at)
VALUES ($1::uuid, $2, $3, $4, ARRAY(SELECT json_array_elements_text($5::json)::bigint),
        ARRAY(SELECT json_array_elements_text($6::json)::integer),
        timestamptz '1970-01-01 00:00:00+00' + $7::bigint * interval '1 microsecond', $8, $9,
        ARRAY(SELECT json_array_elements_text($10::json)), clock_timestamp(), clock_timestamp())

-- name: claims
-- The rows of all claims that stand.
SELECT c.id::text, sent.id, sent.revision
FROM outbox_claim c CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision) WHERE c.shard = $1::bigint

-- name: lock
-- No term begins, and nobody claims, until the end of this transaction.
SELECT epoch FROM outbox_term WHERE shard = $1::bigint FOR UPDATE

-- name: rows
-- Rows as they are, each with the key that its receiver gets.
SELECT o.id, o.revision, o.status = 'PENDING' AS is_pending, coalesce(o.sent_key, o.idempotency_key) AS sent_key
FROM outbox o WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: served_by
-- The lineage in which the newest term was minted.
SELECT l.served_by FROM outbox_term t JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch WHERE t.shard = $1::bigint

-- name: tell
INSERT INTO outbox_audit (who, action, why, details) VALUES ($1, 'failover', $2, $3::jsonb) RETURNING id

-- name: tell_lost
-- Without message_id: another message may have the id by now.
INSERT INTO outbox_audit (who, action, part_of, details)
SELECT $1, 'failover', $2, lost.value - 'sent_ms_ago' || jsonb_build_object(
           'sent_at', clock_timestamp() - (lost.value ->> 'sent_ms_ago')::bigint * interval '1 ms')
FROM jsonb_array_elements($3::jsonb) AS lost

-- name: told
-- Whether an entry was written already, and its answer lost: it is among the newest.
SELECT a.id FROM (SELECT id, action, details FROM outbox_audit ORDER BY id DESC LIMIT 1000) a
WHERE a.action = 'failover' AND a.details ->> 'entry' = $1
