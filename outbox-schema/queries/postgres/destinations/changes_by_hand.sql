SELECT destination, (extract(epoch FROM by_hand_at) * 1000000)::bigint AS stamp,
       CASE WHEN pause_kind = 'hand'
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms
FROM outbox_destination WHERE by_hand_at > now() - interval '1 minute'
