-- As good as new: whatever paused it, and by however many failures.
UPDATE outbox_destination
SET paused_until = NULL, paused_by = NULL, pause_kind = NULL, reason = NULL, failures = 0, aside_until = NULL,
    by_hand_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE destination = ?1
