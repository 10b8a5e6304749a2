UPDATE outbox_term
SET epoch = ?2, holder = ?3, started_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), unsettled_from = ?4
WHERE shard = ?1
