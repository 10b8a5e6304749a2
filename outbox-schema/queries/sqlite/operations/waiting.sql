-- Open operations that nobody carries out, the oldest first.
SELECT id, action FROM outbox_operation
WHERE status = 'open' AND (carried_until IS NULL OR carried_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ORDER BY id LIMIT 1000
