SELECT count(*) AS total FROM outbox_destination WHERE paused_until > CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
