UPDATE outbox
SET deferred_from = coalesce(deferred_from, available_at),
    available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + coalesce(
        (SELECT max(value ->> 'ms') FROM json_each(?2)
         WHERE value ->> 'destination' IN (outbox.destination, outbox.channel)), ?3)
WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'PENDING'
