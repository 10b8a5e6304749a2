-- Taken by another carrier, unless somebody was faster.
UPDATE outbox_operation SET carrier = ?2, carried_until = UTC_TIMESTAMP(6) + INTERVAL (?3 * 1000) MICROSECOND
WHERE id = ?1 AND status = 'open' AND (carried_until IS NULL OR carried_until < UTC_TIMESTAMP(6))
