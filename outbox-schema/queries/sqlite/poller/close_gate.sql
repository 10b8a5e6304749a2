UPDATE outbox_claim SET gate_closed_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE id IN (SELECT value FROM json_each(?1))
