SELECT id FROM outbox_claim WHERE shard = ? AND superseded_at IS NULL ORDER BY id FOR UPDATE
