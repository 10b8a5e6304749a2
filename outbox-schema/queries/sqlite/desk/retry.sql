-- Due now. Attempts and age stay: they go on.
UPDATE outbox SET available_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), revision = revision + 1
WHERE id IN (SELECT value FROM json_each(?1))
