-- Rows with a priority that no claim looks at: MariaDB's check of it can be switched off by whoever writes. The others have none.
SELECT id FROM outbox FORCE INDEX (outbox_due)
WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL AND (priority < 0 OR priority > 3)
LIMIT 1000
FOR UPDATE SKIP LOCKED
