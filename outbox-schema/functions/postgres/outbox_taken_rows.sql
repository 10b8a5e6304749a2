-- The rows of a claim that may still be sent under it. One that is larger than its channel allows is not read.
CREATE OR REPLACE FUNCTION outbox_taken_rows(
    p_ids bigint[], p_revisions integer[], p_channels varchar[], p_most_bytes bigint[], p_complete boolean, p_nths integer[]
) RETURNS SETOF outbox_taken
LANGUAGE sql STABLE
AS $$
    SELECT 'claimed'::varchar, o.id, o.revision, coalesce(o.sent_key, o.idempotency_key), o.channel, o.target, o.destination,
           size.bytes, size.too_large, CASE WHEN NOT size.too_large THEN o.payload END,
           CASE WHEN NOT size.too_large THEN o.headers END,
           o.attempts, o.max_attempts, o.expires_at, o.first_attempt_at, o.created_at,
           o.ordering_key, o.tenant, o.traceparent, o.tracestate, o.priority, o.available_at, p_complete, sent.nth, sent.place
    FROM unnest(p_ids, p_revisions, p_nths) WITH ORDINALITY AS sent(id, revision, nth, place)
    JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
    LEFT JOIN unnest(p_channels, p_most_bytes) AS channel(name, most_bytes) ON channel.name = o.channel
    CROSS JOIN LATERAL (
        SELECT o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes
    ) weight
    CROSS JOIN LATERAL (SELECT weight.bytes, weight.bytes > coalesce(channel.most_bytes, weight.bytes) AS too_large) size
$$;
