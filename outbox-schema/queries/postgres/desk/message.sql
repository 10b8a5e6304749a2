SELECT id, idempotency_key, channel, target, destination, payload::text AS payload, headers::text AS headers,
       ordering_key, tenant, priority::integer AS priority, shard::integer AS shard, revision, status, dead_reason,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts,
       to_json(available_at) #>> '{}' AS available_at, to_json(deferred_from) #>> '{}' AS deferred_from,
       to_json(expires_at) #>> '{}' AS expires_at, to_json(first_attempt_at) #>> '{}' AS first_attempt_at,
       traceparent, tracestate, last_error, last_status_code, receipt, to_json(created_at) #>> '{}' AS created_at,
       to_json(finished_at) #>> '{}' AS finished_at
FROM outbox WHERE id = $1
