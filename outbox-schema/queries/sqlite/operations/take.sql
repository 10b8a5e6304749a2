-- Taken by another carrier, unless somebody was faster.
UPDATE outbox_operation SET carrier = ?2, carried_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?3
WHERE id = ?1 AND status = 'open' AND (carried_until IS NULL OR carried_until < CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
