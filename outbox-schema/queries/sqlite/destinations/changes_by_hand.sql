-- What people changed within the last minute, and what holds these destinations now: somebody may have resumed one, and then an
-- answer paused it anew.
SELECT destination, by_hand_at AS stamp, pause_kind,
       paused_until - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS paused_ms, failures
FROM outbox_destination WHERE by_hand_at > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 60000
