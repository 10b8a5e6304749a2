FROM outbox_claim_rows(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_channels => $5, p_most_bytes => $6, p_halting => $7,
    p_at_most_once => $8, p_timeout_ms => $9, p_margin_ms => $10, p_ttl_ms => $11, p_ids => $13, p_revisions => $14
) due
CROSS JOIN (SELECT $12::boolean AS bodies) wanted
