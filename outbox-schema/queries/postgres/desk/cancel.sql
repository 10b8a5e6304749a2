UPDATE outbox
SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = clock_timestamp(),
    error_hash = NULL, deferred_from = NULL
WHERE id = $1
