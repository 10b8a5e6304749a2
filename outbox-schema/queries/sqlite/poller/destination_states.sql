-- What a term must know of destinations: pauses that are on, breakers that are not closed, rows put aside, rates that rise. Goes on
-- in another file.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination, pause_kind, paused_until - now.ms AS paused_ms, failures, aside_until - now.ms AS aside_ms,
       now.ms - ramp_from AS ramp_ms, now.ms - last_sent_at AS unused_ms
FROM outbox_destination CROSS JOIN now
WHERE (paused_until > now.ms OR aside_until > now.ms OR (pause_kind = 'breaker' AND failures > 0)
       OR last_sent_at > now.ms - 600000)
