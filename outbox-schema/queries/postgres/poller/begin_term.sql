SELECT outbox_begin_term($1, $2)
