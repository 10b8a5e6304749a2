UPDATE outbox
SET deferred_from = coalesce(deferred_from, available_at),
    available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?2
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'PENDING'
