-- What is kept of destinations and channels: of all, or of one.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch'), CAST(paused_until AS TEXT)) AS paused_until,
       paused_until - now.ms AS paused_ms, coalesce(paused_until >= 253402214400000, 0) AS for_good, paused_by, pause_kind,
       reason, failures,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', aside_until / 1000.0, 'unixepoch'), CAST(aside_until AS TEXT)) AS aside_until,
       aside_until - now.ms AS aside_ms
FROM outbox_destination CROSS JOIN now WHERE ?1 IS NULL OR destination = ?1
