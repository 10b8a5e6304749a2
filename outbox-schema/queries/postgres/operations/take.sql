-- Taken by another carrier, unless somebody was faster.
UPDATE outbox_operation SET carrier = $2, carried_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE id = $1 AND status = 'open' AND (carried_until IS NULL OR carried_until < clock_timestamp())
