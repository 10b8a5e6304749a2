UPDATE outbox_claim SET superseded_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE shard = ?1 AND superseded_at IS NULL
