FROM outbox_look_and_claim(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_channels => $5, p_most_bytes => $6, p_halting => $7,
    p_at_most_once => $8, p_timeout_ms => $9, p_margin_ms => $10, p_ttl_ms => $11, p_at => $13, p_id => $14, p_limit => $15, p_known => $16,
    p_not_of_channels => $17, p_not_of_tenants => $18, p_up_to => $19
) due
CROSS JOIN (SELECT $12::boolean AS bodies) wanted
