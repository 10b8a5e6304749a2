FROM outbox_take_found(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_ids => $5, p_revisions => $6, p_channels => $7, p_most_bytes => $8,
    p_at_most_once => $9, p_settling_ms => $10, p_settling_closed_ms => $11
) due
CROSS JOIN (SELECT $12::boolean AS bodies) wanted
