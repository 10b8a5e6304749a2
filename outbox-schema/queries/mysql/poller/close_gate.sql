UPDATE outbox_claim SET gate_closed_at = UTC_TIMESTAMP(6)
WHERE shard = ? AND epoch = ? AND holder = ? AND gate_closed_at IS NULL
