UPDATE outbox
SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = clock_timestamp(),
    error_hash = NULL, deferred_from = NULL
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
