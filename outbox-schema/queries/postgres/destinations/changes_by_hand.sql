-- What people changed within the last minute, and what holds these destinations now: somebody may have resumed one, and then an
-- answer paused it anew.
SELECT destination, (extract(epoch FROM by_hand_at) * 1000000)::bigint AS stamp, pause_kind,
       CASE WHEN paused_until IS NOT NULL
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms,
       failures
FROM outbox_destination WHERE by_hand_at > now() - interval '1 minute'
