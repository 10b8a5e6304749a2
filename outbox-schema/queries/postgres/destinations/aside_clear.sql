-- A pause by hand is not the poller's to end.
UPDATE outbox_destination
SET aside_until = NULL,
    failures = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN failures ELSE 0 END,
    reason = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN reason END,
    paused_by = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN paused_by END,
    paused_until = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN paused_until END,
    pause_kind = CASE WHEN pause_kind = 'hand' AND paused_until > now() THEN pause_kind END
WHERE destination = $1
