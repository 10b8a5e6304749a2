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
