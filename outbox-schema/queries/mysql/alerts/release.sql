UPDATE outbox_alert
SET claimed_by = NULL, claimed_until = UTC_TIMESTAMP(6) + INTERVAL ?3 * 1000 MICROSECOND
WHERE kind = ?1 AND claimed_by = ?2
