DELETE FROM outbox_term_log WHERE shard = ? AND epoch <= ?
