UPDATE outbox_operation SET status = ?2, failure = ?3, ended_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
WHERE id = ?1 AND status = 'open'
