UPDATE outbox_alert
SET claimed_by = ?2, claimed_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?3
WHERE kind = ?1 AND (claimed_until IS NULL OR claimed_until <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
  AND CASE WHEN ?5 = 1 THEN is_open = 1
           ELSE told_at IS NULL OR told_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?4 END
