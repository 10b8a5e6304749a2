UPDATE outbox_alert
SET claimed_by = $2, claimed_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE kind = $1 AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
  AND CASE WHEN $5::bigint = 1 THEN is_open = 1
           ELSE told_at IS NULL OR told_at <= clock_timestamp() - $4::bigint * interval '1 millisecond' END
