-- Destinations and channels that are paused: of all, or those of these names. What asked for its pause itself comes last.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT destination,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch'), CAST(paused_until AS TEXT)) AS paused_until,
       CASE WHEN paused_until < 253402214400000 THEN CAST(paused_until - now.ms AS INTEGER) END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d, now
WHERE d.paused_until > now.ms AND (?1 IS NULL OR d.destination IN (SELECT value FROM json_each(?1)))
ORDER BY CASE d.pause_kind WHEN 'hand' THEN 0 WHEN 'barred' THEN 1 WHEN 'breaker' THEN 2 ELSE 3 END, d.destination
LIMIT ?2
