-- Destinations and channels that are paused: of all, or those of these names. What asked for its pause itself comes last.
SELECT destination, coalesce(to_char(paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(paused_until) #>> '{}') AS paused_until,
       CASE WHEN paused_until < '9999-12-31 00:00:00+00'
            THEN (extract(epoch FROM paused_until - now()) * 1000)::bigint END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d
WHERE d.paused_until > now() AND ($1::text IS NULL OR d.destination IN (SELECT json_array_elements_text($1::json)))
ORDER BY CASE d.pause_kind WHEN 'hand' THEN 0 WHEN 'barred' THEN 1 WHEN 'breaker' THEN 2 ELSE 3 END, d.destination
LIMIT $2
