-- What a term must know of destinations: pauses that are on, breakers that are not closed, rows put aside, rates that rise. Goes on
-- in another file.
SELECT destination, pause_kind,
       CASE WHEN paused_until IS NOT NULL
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms,
       failures,
       (extract(epoch FROM aside_until - now()) * 1000)::bigint AS aside_ms,
       (extract(epoch FROM now() - ramp_from) * 1000)::bigint AS ramp_ms,
       (extract(epoch FROM now() - last_sent_at) * 1000)::bigint AS unused_ms
FROM outbox_destination
WHERE (paused_until > now() OR aside_until > now() OR (pause_kind = 'breaker' AND failures > 0)
       OR last_sent_at > now() - interval '10 minutes')
