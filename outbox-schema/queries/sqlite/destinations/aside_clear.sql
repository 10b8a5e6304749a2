-- A pause by hand is not the poller's to end.
UPDATE outbox_destination
SET aside_until = NULL, failures = iif(by_hand, failures, 0), reason = iif(by_hand, reason, NULL),
    paused_by = iif(by_hand, paused_by, NULL), paused_until = iif(by_hand, paused_until, NULL),
    pause_kind = iif(by_hand, pause_kind, NULL)
FROM (SELECT pause_kind IS 'hand' AND paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS by_hand
      FROM outbox_destination WHERE destination = ?1)
WHERE destination = ?1
