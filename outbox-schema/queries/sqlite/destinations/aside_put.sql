UPDATE outbox
SET deferred_from = coalesce(deferred_from, available_at),
    available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + put.ms
FROM (SELECT value ->> 'id' AS id, value ->> 'ms' AS ms FROM json_each(?1)) put
WHERE outbox.id = put.id AND status = 'PENDING'
