UPDATE outbox_alert
SET told_at = CASE WHEN ?3 = 1 THEN told_at ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) END, is_open = ?4,
    claimed_by = NULL, claimed_until = NULL
WHERE kind = ?1 AND claimed_by = ?2
