UPDATE outbox_claim SET gate_closed_at = clock_timestamp()
WHERE shard = $1 AND epoch = $2 AND holder = $3 AND gate_closed_at IS NULL
