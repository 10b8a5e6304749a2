UPDATE outbox SET available_at = deferred_from, deferred_from = NULL
WHERE id IN (SELECT value FROM json_each(?1)) AND deferred_from IS NOT NULL
