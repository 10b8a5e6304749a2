UPDATE outbox_alert
SET told_at = CASE WHEN $3::bigint = 1 THEN told_at ELSE clock_timestamp() END, is_open = $4::bigint::smallint,
    claimed_by = NULL, claimed_until = NULL
WHERE kind = $1 AND claimed_by = $2
