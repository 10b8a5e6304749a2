-- name: begin
INSERT INTO outbox_operation (id, action, state, meant, began_at, carrier, carried_until)
VALUES (?1, ?2, ?3, ?4, UTC_TIMESTAMP(6), ?5, UTC_TIMESTAMP(6) + INTERVAL (?6 * 1000) MICROSECOND)

-- name: end
UPDATE outbox_operation SET status = ?2, failure = ?3, ended_at = UTC_TIMESTAMP(6)
WHERE id = ?1 AND status = 'open'

-- name: forget
-- The audit keeps who did what for ever.
DELETE FROM outbox_operation WHERE ended_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY

-- name: keep
-- Where the operation stands after a batch, in the batch's transaction.
UPDATE outbox_operation
SET place = ?2, done = ?3, changed = ?4, meant = ?5, status = ?6, failure = NULL,
    carried_until = UTC_TIMESTAMP(6) + INTERVAL (?7 * 1000) MICROSECOND,
    ended_at = CASE ?6 WHEN 'open' THEN NULL ELSE UTC_TIMESTAMP(6) END
WHERE id = ?1

-- name: leave
-- Its carrier leaves it to the poller.
UPDATE outbox_operation SET carrier = NULL, carried_until = NULL WHERE id = ?1 AND carrier = ?2 AND status = 'open'

-- name: list
-- Operations below an id, the newest first.
SELECT o.id, o.action, a.who, a.why, CAST(a.details AS CHAR) AS details, o.status, o.meant, o.done, o.changed,
       DATE_FORMAT(o.began_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS began_at, DATE_FORMAT(o.ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at,
       TIMESTAMPDIFF(MICROSECOND, o.began_at, coalesce(o.ended_at, UTC_TIMESTAMP(6))) DIV 1000 AS lasted_ms,
       CASE WHEN o.status = 'open' AND (o.carried_until IS NULL OR o.carried_until < UTC_TIMESTAMP(6)) THEN 1 ELSE 0 END AS waits,
       o.failure
FROM outbox_operation o
LEFT JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = o.id
WHERE (?1 IS NULL OR o.id < ?1)
ORDER BY o.id DESC LIMIT ?2

-- name: lock
-- Nobody else carries it out, or stops it, until this transaction ends.
SELECT status, carrier FROM outbox_operation WHERE id = ?1 FOR UPDATE

-- name: state
-- The order, and where it stands, with who gave it.
SELECT o.action, o.state AS kept, o.place, o.meant, o.done, o.changed, o.status, a.who
FROM outbox_operation o
LEFT JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = o.id
WHERE o.id = ?1

-- name: take
-- Taken by another carrier, unless somebody was faster.
UPDATE outbox_operation SET carrier = ?2, carried_until = UTC_TIMESTAMP(6) + INTERVAL (?3 * 1000) MICROSECOND
WHERE id = ?1 AND status = 'open' AND (carried_until IS NULL OR carried_until < UTC_TIMESTAMP(6))

-- name: waiting
-- Open operations that nobody carries out, the oldest first.
SELECT id, action FROM outbox_operation
WHERE status = 'open' AND (carried_until IS NULL OR carried_until < UTC_TIMESTAMP(6))
ORDER BY id LIMIT 1000
