-- name: begin
INSERT INTO outbox_operation (id, action, state, meant, began_at, carrier, carried_until)
VALUES ($1, $2, $3, $4, clock_timestamp(), $5, clock_timestamp() + $6::bigint * interval '1 millisecond')

-- name: end
UPDATE outbox_operation SET status = $2, failure = $3, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'open'

-- name: forget
-- The audit keeps who did what for ever.
DELETE FROM outbox_operation WHERE ended_at < clock_timestamp() - interval '30 days'

-- name: keep
-- Where the operation stands after a batch, in the batch's transaction.
UPDATE outbox_operation
SET place = $2, done = $3, changed = $4, meant = $5, status = $6::text, failure = NULL,
    carried_until = clock_timestamp() + $7::bigint * interval '1 millisecond',
    ended_at = CASE $6::text WHEN 'open' THEN NULL ELSE clock_timestamp() END
WHERE id = $1

-- name: leave
-- Its carrier leaves it to the poller.
UPDATE outbox_operation SET carrier = NULL, carried_until = NULL WHERE id = $1 AND carrier = $2 AND status = 'open'

-- name: list
-- Operations below an id, the newest first.
SELECT o.id, o.action, a.who, a.why, a.details::text AS details, o.status, o.meant, o.done, o.changed,
       coalesce(to_char(o.began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.began_at) #>> '{}') AS began_at,
       coalesce(to_char(o.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.ended_at) #>> '{}') AS ended_at,
       (extract(epoch FROM coalesce(o.ended_at, clock_timestamp()) - o.began_at) * 1000)::bigint AS lasted_ms,
       CASE WHEN o.status = 'open' AND (o.carried_until IS NULL OR o.carried_until < clock_timestamp()) THEN 1::bigint ELSE 0::bigint END AS waits,
       o.failure
FROM outbox_operation o
LEFT JOIN outbox_audit a ON a.id = o.id
WHERE ($1::bigint IS NULL OR o.id < $1)
ORDER BY o.id DESC LIMIT $2

-- name: lock
-- Nobody else carries it out, or stops it, until this transaction ends.
SELECT status, carrier FROM outbox_operation WHERE id = $1 FOR UPDATE

-- name: state
-- The order, and where it stands, with who gave it.
SELECT o.action, o.state AS kept, o.place, o.meant, o.done, o.changed, o.status, a.who
FROM outbox_operation o
LEFT JOIN outbox_audit a ON a.id = o.id
WHERE o.id = $1

-- name: take
-- Taken by another carrier, unless somebody was faster.
UPDATE outbox_operation SET carrier = $2, carried_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE id = $1 AND status = 'open' AND (carried_until IS NULL OR carried_until < clock_timestamp())

-- name: waiting
-- Open operations that nobody carries out, the oldest first.
SELECT id, action FROM outbox_operation
WHERE status = 'open' AND (carried_until IS NULL OR carried_until < clock_timestamp())
ORDER BY id LIMIT 1000
