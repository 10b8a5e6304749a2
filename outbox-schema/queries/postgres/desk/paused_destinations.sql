SELECT destination, coalesce(to_char(paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(paused_until) #>> '{}') AS paused_until,
       CASE WHEN paused_until < '9999-12-31 00:00:00+00'
            THEN (extract(epoch FROM paused_until - now()) * 1000)::bigint END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d WHERE d.paused_until > now() ORDER BY d.destination
