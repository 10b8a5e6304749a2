-- name: begin
INSERT INTO outbox_operation (id, action, state, meant, began_at, carrier, carried_until)
VALUES (?1, ?2, ?3, ?4, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), ?5, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?6)

-- name: end
UPDATE outbox_operation SET status = ?2, failure = ?3, ended_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE id = ?1 AND status = 'open'

-- name: forget
-- The audit keeps who did what for ever.
DELETE FROM outbox_operation WHERE ended_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 2592000000

-- name: keep
-- Where the operation stands after a batch, in the batch's transaction.
UPDATE outbox_operation
SET place = ?2, done = ?3, changed = ?4, meant = ?5, status = ?6, failure = NULL,
    carried_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?7,
    ended_at = CASE ?6 WHEN 'open' THEN NULL ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) END
WHERE id = ?1

-- name: leave
-- Its carrier leaves it to the poller.
UPDATE outbox_operation SET carrier = NULL, carried_until = NULL WHERE id = ?1 AND carrier = ?2 AND status = 'open'

-- name: list
-- Operations below an id, the newest first.
SELECT o.id, o.action, a.who, a.why, a.details AS details, o.status, o.meant, o.done, o.changed,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.began_at / 1000.0, 'unixepoch') AS began_at, strftime('%Y-%m-%dT%H:%M:%fZ', o.ended_at / 1000.0, 'unixepoch') AS ended_at,
       coalesce(o.ended_at, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) - o.began_at AS lasted_ms,
       CASE WHEN o.status = 'open' AND (o.carried_until IS NULL OR o.carried_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) THEN 1 ELSE 0 END AS waits,
       o.failure
FROM outbox_operation o
LEFT JOIN outbox_audit a ON a.id = o.id
WHERE (?1 IS NULL OR o.id < ?1)
ORDER BY o.id DESC LIMIT ?2

-- name: lock
-- Nobody else carries it out, or stops it, until this transaction ends. BEGIN IMMEDIATE has locked it.
SELECT status, carrier FROM outbox_operation WHERE id = ?1

-- name: state
-- The order, and where it stands, with who gave it.
SELECT o.action, o.state AS kept, o.place, o.meant, o.done, o.changed, o.status, a.who
FROM outbox_operation o
LEFT JOIN outbox_audit a ON a.id = o.id
WHERE o.id = ?1

-- name: take
-- Taken by another carrier, unless somebody was faster.
UPDATE outbox_operation SET carrier = ?2, carried_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?3
WHERE id = ?1 AND status = 'open' AND (carried_until IS NULL OR carried_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER))

-- name: waiting
-- Open operations that nobody carries out, the oldest first.
SELECT id, action FROM outbox_operation
WHERE status = 'open' AND (carried_until IS NULL OR carried_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ORDER BY id LIMIT 1000
