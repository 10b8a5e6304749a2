-- In the order of the array: ids decide within an ordering key.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts,
                    available_at, expires_at, traceparent, tracestate)
SELECT m.idempotency_key, m.channel, m.target, m.payload::jsonb, m.headers::jsonb, m.ordering_key, m.priority,
       m.max_attempts,
       coalesce(to_timestamp(m.due_at_ms / 1000.0), now() + coalesce(m.due_in_ms, 0) * interval '1 ms'),
       coalesce(to_timestamp(m.expires_at_ms / 1000.0), now() + m.expires_in_ms * interval '1 ms'),
       m.traceparent, m.tracestate
FROM ROWS FROM (json_to_recordset($1::json) AS (
    idempotency_key text, channel text, target text, payload text, headers text, ordering_key text,
    priority smallint, max_attempts smallint, due_in_ms bigint, due_at_ms bigint,
    expires_in_ms bigint, expires_at_ms bigint, traceparent text, tracestate text)) WITH ORDINALITY AS m
ORDER BY m.ordinality
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key
