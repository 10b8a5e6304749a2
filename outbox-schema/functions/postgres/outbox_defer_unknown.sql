-- Move rows of unknown channels out of the way of claims: those that a look met, and those among the next 2,500 of each priority. That
-- is a bound: where they are few, one look after the other would read the backlog for them.
CREATE OR REPLACE FUNCTION outbox_defer_unknown(
    p_shard smallint, p_met bigint[], p_excluded bigint[], p_channels varchar[], p_unknown_ms bigint
) RETURNS SETOF outbox_met
LANGUAGE plpgsql
AS $$
BEGIN
    RETURN QUERY
    WITH free AS MATERIALIZED (
        SELECT f.id FROM outbox f
        WHERE f.id IN (
            SELECT unnest(p_met)
            UNION
            -- Having met one, move those behind it as well: they would only be met next.
            SELECT due.id
            FROM (VALUES (3::smallint), (2::smallint), (1::smallint), (0::smallint)) priority(number)
            CROSS JOIN LATERAL (
                SELECT d.id, d.channel FROM outbox d
                WHERE d.shard = p_shard AND d.status = 'PENDING' AND d.ordering_key IS NULL
                  AND d.priority = priority.number AND d.available_at <= now() AND d.id <> ALL (p_excluded)
                ORDER BY d.available_at, d.id LIMIT 2500) due
            WHERE due.channel <> ALL (p_channels))
          AND f.status = 'PENDING'
        -- What is being cancelled must not keep this claim waiting.
        FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE outbox o
    SET deferred_from = coalesce(o.deferred_from, o.available_at),
        available_at = now() + p_unknown_ms * interval '1 ms'
    FROM free WHERE o.id = free.id AND o.status = 'PENDING'
    RETURNING false, o.id, o.revision, o.idempotency_key, o.channel, o.target, o.destination, NULL::jsonb, NULL::jsonb,
              o.attempts, o.max_attempts, o.expires_at, o.first_attempt_at, o.created_at,
              o.ordering_key, o.traceparent, o.tracestate, o.priority, o.available_at, false, NULL::integer, NULL::bigint;
END
$$;
