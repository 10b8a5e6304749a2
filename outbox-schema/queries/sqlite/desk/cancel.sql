UPDATE outbox
SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER),
    error_hash = NULL, deferred_from = NULL
WHERE id IN (SELECT value FROM json_each(?1))
