-- name: enqueue
-- In the order of the array: ids decide within an ordering key. (WHERE true tells ON CONFLICT from the ON of a join.)
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts,
                    available_at, expires_at, traceparent, tracestate, tenant, tags)
SELECT json_extract(m.value, '$.idempotency_key'), json_extract(m.value, '$.channel'),
       json_extract(m.value, '$.target'), json_extract(m.value, '$.payload'), json_extract(m.value, '$.headers'),
       json_extract(m.value, '$.ordering_key'), json_extract(m.value, '$.priority'),
       json_extract(m.value, '$.max_attempts'),
       coalesce(json_extract(m.value, '$.due_at_ms'), clock.now_ms + coalesce(json_extract(m.value, '$.due_in_ms'), 0)),
       coalesce(json_extract(m.value, '$.expires_at_ms'), clock.now_ms + json_extract(m.value, '$.expires_in_ms')),
       json_extract(m.value, '$.traceparent'), json_extract(m.value, '$.tracestate'),
       json_extract(m.value, '$.tenant'), json_extract(m.value, '$.tags')
FROM json_each(?1) AS m,
     (SELECT CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now_ms) AS clock
WHERE true
ORDER BY m.key
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key

-- name: enqueued
SELECT id, idempotency_key FROM outbox WHERE idempotency_key IN (SELECT value FROM json_each(?1))
