SELECT destination, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS remaining_ms
FROM outbox_destination WHERE paused_until > UTC_TIMESTAMP(6)
