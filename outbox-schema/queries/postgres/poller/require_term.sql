-- Lock the term row, and prove epoch and holder.
SELECT outbox_require_term(p_shard => $1, p_epoch => $2, p_holder => $3)
