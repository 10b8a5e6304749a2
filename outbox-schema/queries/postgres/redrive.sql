-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE outbox
SET status = 'PENDING', revision = revision + 1, attempts = 0, dead_reason = NULL, finished_at = NULL,
    first_attempt_at = NULL, available_at = clock_timestamp(), deferred_from = NULL,
    expires_at = CASE WHEN expires_at <= now() THEN NULL ELSE expires_at END
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
