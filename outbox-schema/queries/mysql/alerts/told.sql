UPDATE outbox_alert
SET told_at = CASE WHEN ?3 = 1 THEN told_at ELSE UTC_TIMESTAMP(6) END, is_open = ?4,
    claimed_by = NULL, claimed_until = NULL
WHERE kind = ?1 AND claimed_by = ?2
