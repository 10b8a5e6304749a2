SELECT epoch, holder FROM outbox_term WHERE shard = ? LOCK IN SHARE MODE
