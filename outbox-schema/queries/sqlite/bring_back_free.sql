SELECT id FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND shard = ?1 AND (destination = ?2 OR channel = ?2)
LIMIT ?3
