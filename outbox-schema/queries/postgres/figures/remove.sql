DELETE FROM outbox_minute WHERE begins_at < now() - $1::bigint * interval '1 second'
