UPDATE outbox_alert
SET claimed_by = NULL, claimed_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE kind = $1 AND claimed_by = $2
