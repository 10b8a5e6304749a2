-- What people changed within the last minute, and what holds these destinations now: somebody may have resumed one, and then an
-- answer paused it anew.
SELECT destination, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', by_hand_at) AS stamp, pause_kind,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS paused_ms, failures
FROM outbox_destination WHERE by_hand_at > UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE
