-- A pause by hand is not the poller's to end. Assignments are made from left to right: a kind that is not kept is NULL for
-- those after it.
UPDATE outbox_destination
SET aside_until = NULL,
    pause_kind = IF(pause_kind <=> 'hand' AND paused_until > UTC_TIMESTAMP(6), pause_kind, NULL),
    failures = IF(pause_kind IS NULL, 0, failures),
    reason = IF(pause_kind IS NULL, NULL, reason),
    paused_by = IF(pause_kind IS NULL, NULL, paused_by),
    paused_until = IF(pause_kind IS NULL, NULL, paused_until)
WHERE destination = ?
