-- What a term must know of destinations: pauses that are on, breakers that are not closed, rows put aside, rates that rise. Goes on
-- in another file.
SELECT destination, pause_kind,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), paused_until) DIV 1000 AS paused_ms, failures,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), aside_until) DIV 1000 AS aside_ms,
       TIMESTAMPDIFF(MICROSECOND, ramp_from, UTC_TIMESTAMP(6)) DIV 1000 AS ramp_ms,
       TIMESTAMPDIFF(MICROSECOND, last_sent_at, UTC_TIMESTAMP(6)) DIV 1000 AS unused_ms
FROM outbox_destination
WHERE (paused_until > UTC_TIMESTAMP(6) OR aside_until > UTC_TIMESTAMP(6) OR (pause_kind = 'breaker' AND failures > 0)
       OR last_sent_at > UTC_TIMESTAMP(6) - INTERVAL 10 MINUTE)
