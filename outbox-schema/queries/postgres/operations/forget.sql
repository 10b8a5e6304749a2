-- The audit keeps who did what for ever.
DELETE FROM outbox_operation WHERE ended_at < clock_timestamp() - interval '30 days'
