SELECT epoch, holder FROM outbox_term WHERE shard = ? FOR UPDATE
