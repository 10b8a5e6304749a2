DELETE FROM outbox_replica WHERE seen_at < now() - interval '1 day'
