-- Rows of a destination or channel that were put aside: of one shard, or of all.
SELECT id FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1) AND (destination = ?2 OR channel = ?2)
LIMIT ?3
