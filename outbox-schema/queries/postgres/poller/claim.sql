FROM outbox_take(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_limit => $5, p_max_bytes => $6,
    p_excluded => $7, p_channels => $8, p_timeouts_ms => $9, p_rooms => $10, p_mosts => $11, p_most_bytes => $12,
    p_halting => $13, p_unfair => $14, p_at_most_once => $15, p_closed => $16, p_closed_channels => $17, p_limited => $18,
    p_limits => $19, p_strangers => $20, p_strangers_bytes => $21, p_ask => $22, p_turn => $23, p_tenants => $24,
    p_served_channels => $25, p_served => $26,
    p_unknown_ms => $27, p_ttl_ms => $28, p_margin_ms => $29, p_from_us => $30, p_from_id => $31,
    -- As the index of ordering keys has it.
    p_keys_from => hashtextextended($33, hashtextextended($32, 0)), p_keys_until => hashtextextended($35, hashtextextended($34, 0))
) due
CROSS JOIN (SELECT $36::boolean AS bodies) wanted
