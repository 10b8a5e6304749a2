-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE outbox o
SET status = 'PENDING', revision = o.revision + 1, attempts = 0, dead_reason = NULL, error_hash = NULL,
    finished_at = NULL, first_attempt_at = NULL, deferred_from = NULL,
    available_at = greatest(clock_timestamp(),
                            timestamptz '1970-01-01 00:00:00+00' + asked.due_us * interval '1 microsecond'),
    expires_at = CASE WHEN o.expires_at <= now() THEN NULL ELSE o.expires_at END
FROM json_to_recordset($1::json) AS asked(id bigint, due_us bigint)
WHERE o.id = asked.id
