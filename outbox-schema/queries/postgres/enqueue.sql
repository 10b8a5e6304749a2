-- name: enqueue
-- In the order of the arrays: ids decide within an ordering key.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts,
                    available_at, expires_at, traceparent, tracestate, tenant, tags)
SELECT m.idempotency_key, m.channel, m.target, m.payload::jsonb, m.headers::jsonb, m.ordering_key, m.priority,
       m.max_attempts,
       coalesce(to_timestamp(m.due_at_ms / 1000.0), now() + coalesce(m.due_in_ms, 0) * interval '1 ms'),
       coalesce(to_timestamp(m.expires_at_ms / 1000.0), now() + m.expires_in_ms * interval '1 ms'),
       m.traceparent, m.tracestate, m.tenant, m.tags::jsonb
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::integer[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[],
            $15::text[], $16::text[]) WITH ORDINALITY AS m(
    idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, due_in_ms, due_at_ms,
    expires_in_ms, expires_at_ms, traceparent, tracestate, tenant, tags, ordinality)
ORDER BY m.ordinality
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key

-- name: enqueued
-- A statement of its own: that of the insert began before the duplicate was committed and would not see it.
SELECT id, idempotency_key FROM outbox WHERE idempotency_key = ANY (ARRAY(SELECT json_array_elements_text($1::json)))
