UPDATE outbox_alert
SET claimed_by = ?2, claimed_until = UTC_TIMESTAMP(6) + INTERVAL ?3 * 1000 MICROSECOND
WHERE kind = ?1 AND (claimed_until IS NULL OR claimed_until <= UTC_TIMESTAMP(6))
  AND CASE WHEN ?5 = 1 THEN is_open = 1
           ELSE told_at IS NULL OR told_at <= UTC_TIMESTAMP(6) - INTERVAL ?4 * 1000 MICROSECOND END
