-- $36 is false where the rows cannot all be read: each is then read by itself (claimed_body.sql).
--
-- No start of a walk is younger than a second: transactions that began a moment ago may be committing still.
-- Seconds are floating-point numbers here, which take a fifth of the time of exact ones and tell microseconds apart until
-- the year 2100.
SELECT came_by, id, revision, idempotency_key, channel, target, destination,
       bytes, too_large,
       CASE WHEN $36 THEN coalesce(payload::text, '') ELSE '' END AS payload, CASE WHEN $36 THEN headers::text END AS headers,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts,
       CASE WHEN isfinite(expires_at) THEN (date_part('epoch', expires_at - clock_timestamp()) * 1000)::bigint
            WHEN expires_at = '-infinity' THEN 0 END AS expires_in_ms,
       CASE WHEN isfinite(first_attempt_at)
            THEN (date_part('epoch', clock_timestamp() - first_attempt_at) * 1000)::bigint END AS retrying_for_ms,
       CASE WHEN isfinite(created_at)
            THEN (date_part('epoch', clock_timestamp() - created_at) * 1000)::bigint ELSE 0 END AS waited_ms,
       CASE WHEN isfinite(created_at) THEN floor(round(date_part('epoch', created_at) * 1e6) / 1000)::bigint END AS created_ms,
       ordering_key, tenant, traceparent, tracestate, priority,
       -- Asked of each row only where there are any.
       CASE WHEN (SELECT EXISTS (SELECT FROM outbox_invalid_target)) THEN EXISTS (
           SELECT FROM outbox_invalid_target gone
           WHERE gone.channel = due.channel AND md5(gone.target) = md5(due.target)) ELSE false END AS target_is_gone,
       CASE WHEN isfinite(available_at)
            THEN round(date_part('epoch', least(available_at, now() - interval '1 s')) * 1e6)::bigint END AS start_us,
       complete, nth, place
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
