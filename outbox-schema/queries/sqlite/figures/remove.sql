DELETE FROM outbox_minute WHERE begins_at < (unixepoch() - ?1) * 1000
