SELECT destination, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', by_hand_at) AS stamp,
       IF(pause_kind = 'hand', TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000, NULL) AS paused_ms
FROM outbox_destination WHERE by_hand_at > UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE
