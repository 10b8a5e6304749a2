-- The audit keeps who did what for ever.
DELETE FROM outbox_operation WHERE ended_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY
