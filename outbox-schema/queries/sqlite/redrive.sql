-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE outbox
SET status = 'PENDING', revision = revision + 1, attempts = 0, dead_reason = NULL, finished_at = NULL,
    first_attempt_at = NULL, available_at = CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER),
    deferred_from = NULL,
    expires_at = CASE WHEN expires_at <= (julianday('now') - 2440587.5) * 86400000 THEN NULL ELSE expires_at END
WHERE id IN (SELECT value FROM json_each(?1))
