SELECT destination, DATE_FORMAT(paused_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS paused_until,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS remaining_ms, paused_by, reason,
       failures
FROM outbox_destination d WHERE d.paused_until > UTC_TIMESTAMP(6) ORDER BY d.destination
