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
