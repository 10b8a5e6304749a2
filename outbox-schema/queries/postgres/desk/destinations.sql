-- What is kept of destinations and channels: of all, or of one.
SELECT destination, coalesce(to_char(paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(paused_until) #>> '{}') AS paused_until,
       CASE WHEN paused_until IS NOT NULL
            THEN (extract(epoch FROM least(paused_until, now() + interval '100 years') - now()) * 1000)::bigint END AS paused_ms,
       coalesce(paused_until >= '9999-12-31 00:00:00+00', false) AS for_good, paused_by, pause_kind, reason, failures,
       coalesce(to_char(aside_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(aside_until) #>> '{}') AS aside_until,
       CASE WHEN aside_until IS NOT NULL
            THEN (extract(epoch FROM least(aside_until, now() + interval '100 years') - now()) * 1000)::bigint END AS aside_ms
FROM outbox_destination WHERE $1::text IS NULL OR destination = $1
