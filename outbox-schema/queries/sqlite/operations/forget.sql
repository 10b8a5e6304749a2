-- The audit keeps who did what for ever.
DELETE FROM outbox_operation WHERE ended_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 2592000000
