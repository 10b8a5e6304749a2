SELECT outbox_begin_term(p_shard => $1, p_holder => $2)
