SELECT id FROM outbox
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND shard = $1 AND (destination = $2 OR channel = $2)
LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
