WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch'), CAST(paused_until AS TEXT)) AS paused_until,
       CASE WHEN paused_until < 253402214400000 THEN CAST(paused_until - now.ms AS INTEGER) END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d, now WHERE d.paused_until > now.ms ORDER BY d.destination
