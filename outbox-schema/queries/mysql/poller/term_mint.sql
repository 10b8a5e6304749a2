UPDATE outbox_term SET epoch = epoch + 1, holder = ?, started_at = UTC_TIMESTAMP(6) WHERE shard = ?
