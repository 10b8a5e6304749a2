SELECT destination, CAST(paused_until - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS INTEGER) AS remaining_ms
FROM outbox_destination WHERE paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
