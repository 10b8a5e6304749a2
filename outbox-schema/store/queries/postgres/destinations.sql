-- name: aside_clear
-- A pause by hand is not the poller's to end.
UPDATE outbox_destination
SET aside_until = NULL,
    failures = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN failures ELSE 0 END,
    reason = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN reason END,
    paused_by = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN paused_by END,
    paused_until = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN paused_until END,
    pause_kind = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN pause_kind END
WHERE destination = $1

-- name: aside_keep
-- The reason of a pause that is on says more.
INSERT INTO outbox_destination (destination, aside_until, reason)
SELECT kept.destination, now() + kept.ms * interval '1 ms', kept.reason
FROM json_to_recordset($1::json) AS kept(destination text, ms bigint, reason text) ORDER BY kept.destination
ON CONFLICT (destination) DO UPDATE
SET aside_until = greatest(outbox_destination.aside_until, excluded.aside_until),
    reason = CASE WHEN outbox_destination.paused_until > now() THEN outbox_destination.reason
                  ELSE coalesce(excluded.reason, outbox_destination.reason) END

-- name: aside_put
UPDATE outbox o
SET deferred_from = coalesce(o.deferred_from, o.available_at), available_at = now() + put.ms * interval '1 ms'
FROM json_to_recordset($1::json) AS put(id bigint, ms bigint)
WHERE o.id = put.id AND o.status = 'PENDING'

-- name: bring_back
UPDATE outbox SET available_at = deferred_from, deferred_from = NULL
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND deferred_from IS NOT NULL

-- name: changes_by_hand
-- What people changed within the last minute, and what holds these destinations now: somebody may have resumed one, and then an
-- answer paused it anew.
SELECT destination, (extract(epoch FROM by_hand_at) * 1000000)::bigint AS stamp, pause_kind,
       CASE WHEN paused_until IS NOT NULL
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms,
       failures
FROM outbox_destination WHERE by_hand_at > now() - interval '1 minute'

-- name: configured
-- Rows deferred because nobody had configured their channel, which somebody has now; rows of a pause that is still on, or put
-- aside for a while, keep waiting. Nothing is locked here, see `locked`.
SELECT o.id FROM outbox o
WHERE o.deferred_from IS NOT NULL AND o.status = 'PENDING' AND o.shard = $1
  AND o.channel = ANY (ARRAY(SELECT json_array_elements_text($2::json)))
  AND NOT EXISTS (SELECT FROM outbox_destination d
                  WHERE d.destination IN (o.destination, o.channel)
                    AND (d.paused_until > now() OR d.aside_until > now()))
LIMIT $3

-- name: deferred
-- Deferred rows of a destination or channel: of one shard, or of all. No channel has the name of a URL. Nothing is locked here,
-- see `locked`.
SELECT id FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND ($1::bigint IS NULL OR shard = $1) AND destination = $2
UNION ALL
SELECT id FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND ($1::bigint IS NULL OR shard = $1)
  AND strpos($2, ':') = 0 AND channel = $2 AND destination <> $2
LIMIT $3

-- name: due
-- Of the due rows of one priority in a stretch: those of destinations and channels that take nothing for now. Nothing is locked here, see
-- `locked`. Names are hashed: the elements of an array would be compared one by one.
SELECT o.id, o.available_at::text AS at FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
  AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
  AND (o.available_at, o.id) <= (coalesce($5::timestamptz, 'infinity'), $6)
  AND (o.destination IN (SELECT json_array_elements_text($7::json)) OR o.channel IN (SELECT json_array_elements_text($8::json)))
ORDER BY o.available_at, o.id LIMIT $9

-- name: locked
-- Of these rows, those that still wait, locked, and how they stand now. What is being cancelled must not keep it waiting.
SELECT o.id, o.destination::text AS destination, o.channel::text AS channel,
       o.ordering_key IS NULL AND o.available_at <= now() AS due, o.deferred_from IS NOT NULL AS deferred
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'PENDING'
FOR NO KEY UPDATE SKIP LOCKED

-- name: ramp
INSERT INTO outbox_destination (destination, ramp_from, last_sent_at)
VALUES ($1, now() - $2 * interval '1 ms', now())
ON CONFLICT (destination) DO UPDATE SET ramp_from = excluded.ramp_from, last_sent_at = excluded.last_sent_at
