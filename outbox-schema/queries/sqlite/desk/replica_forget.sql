DELETE FROM outbox_replica WHERE seen_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 86400000
