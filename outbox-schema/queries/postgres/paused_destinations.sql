SELECT destination, to_json(paused_until) #>> '{}' AS paused_until,
       CASE WHEN isfinite(paused_until)
            THEN (extract(epoch FROM paused_until - now()) * 1000)::bigint END AS remaining_ms,
       paused_by, reason, failures
FROM outbox_destination d WHERE d.paused_until > now() ORDER BY d.destination
