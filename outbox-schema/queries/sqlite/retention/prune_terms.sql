DELETE FROM outbox_term_log WHERE shard = ?1 AND epoch <= ?2
