UPDATE outbox_alert
SET claimed_by = NULL, claimed_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?3
WHERE kind = ?1 AND claimed_by = ?2
