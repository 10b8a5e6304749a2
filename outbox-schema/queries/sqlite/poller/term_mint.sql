UPDATE outbox_term SET epoch = epoch + 1, holder = ?1, started_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE shard = ?2
