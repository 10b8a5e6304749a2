-- The claims of the last term, which one that begins supersedes.
SELECT id FROM outbox_claim WHERE shard = ?1 AND epoch = ?2 AND superseded_at IS NULL ORDER BY id
