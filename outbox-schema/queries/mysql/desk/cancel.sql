UPDATE outbox
SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = UTC_TIMESTAMP(6),
    error_hash = NULL, deferred_from = NULL
WHERE id = ?
