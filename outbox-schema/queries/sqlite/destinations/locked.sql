-- Of these rows, those that still wait, and how they stand now. The file is locked.
SELECT id, destination, channel,
       ordering_key IS NULL AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS due,
       deferred_from IS NOT NULL AS deferred
FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'PENDING'
