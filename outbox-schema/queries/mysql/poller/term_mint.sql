UPDATE outbox_term SET epoch = ?2, holder = ?3, started_at = UTC_TIMESTAMP(6), unsettled_from = ?4 WHERE shard = ?1
