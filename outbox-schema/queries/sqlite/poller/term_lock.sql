SELECT epoch, holder FROM outbox_term WHERE shard = ?1
