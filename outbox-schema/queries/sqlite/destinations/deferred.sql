-- Deferred rows of a destination or channel: of one shard, or of all. No channel has the name of a URL.
SELECT id FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1) AND destination = ?2
UNION ALL
SELECT id FROM outbox INDEXED BY outbox_deferred
WHERE deferred_from IS NOT NULL AND status = 'PENDING' AND (?1 IS NULL OR shard = ?1)
  AND instr(?2, ':') = 0 AND channel = ?2 AND destination <> ?2
LIMIT ?3
