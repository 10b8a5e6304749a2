SELECT destination,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', paused_until / 1000.0, 'unixepoch'), CAST(paused_until AS TEXT)) AS paused_until,
       CASE WHEN paused_until < 253402214400000
            THEN CAST(paused_until - (julianday('now') - 2440587.5) * 86400000 AS INTEGER) END AS remaining_ms,
       paused_by, pause_kind, reason, failures
FROM outbox_destination d WHERE d.paused_until > (julianday('now') - 2440587.5) * 86400000 ORDER BY d.destination
