-- The claims of a term that has ended.
SELECT id FROM outbox_claim WHERE shard = ?1 AND epoch = ?2 AND holder = ?3 AND gate_closed_at IS NULL
