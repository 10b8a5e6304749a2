UPDATE outbox_operation SET status = $2, failure = $3, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'open'
