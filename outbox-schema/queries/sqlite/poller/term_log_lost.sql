UPDATE outbox_term_log SET ended_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), ended_because = 'lost'
WHERE shard = ?1 AND epoch = ?2 AND ended_at IS NULL
