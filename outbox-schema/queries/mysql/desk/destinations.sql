-- What is kept of destinations and channels: of all, or of one.
SELECT destination, DATE_FORMAT(paused_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS paused_until,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS paused_ms,
       COALESCE(paused_until >= TIMESTAMP'9999-12-31 00:00:00', FALSE) AS for_good, paused_by, pause_kind, reason,
       failures, DATE_FORMAT(aside_until, '%Y-%m-%dT%H:%i:%s.%fZ') AS aside_until,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), aside_until) DIV 1000 AS aside_ms
FROM outbox_destination WHERE ?1 IS NULL OR destination = ?1
