-- The claims that a term which begins supersedes.
SELECT id FROM outbox_claim WHERE shard = ?1 AND superseded_at IS NULL ORDER BY id
