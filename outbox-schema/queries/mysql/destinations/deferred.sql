-- Deferred rows of a destination or channel: of one shard, or of all. Nothing is locked here, see locked.sql.
SELECT id FROM outbox FORCE INDEX (outbox_deferred)
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1) AND (destination = ?2 OR channel = ?2)
LIMIT ?3
