UPDATE outbox_claim SET superseded_at = UTC_TIMESTAMP(6) WHERE shard = ? AND superseded_at IS NULL
