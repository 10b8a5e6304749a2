SELECT destination, DATE_FORMAT(paused_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS paused_until,
       IF(paused_until < TIMESTAMP'9999-12-31 00:00:00',
          TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000, NULL) AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d WHERE d.paused_until > UTC_TIMESTAMP(6) ORDER BY d.destination
