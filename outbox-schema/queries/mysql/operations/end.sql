UPDATE outbox_operation SET status = ?2, failure = ?3, ended_at = UTC_TIMESTAMP(6)
WHERE id = ?1 AND status = 'open'
