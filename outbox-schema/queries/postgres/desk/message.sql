SELECT id, idempotency_key, channel, target, destination,
       CASE WHEN payload_bytes <= $2 THEN payload::text END AS payload, payload_bytes::bigint AS payload_bytes, headers::text AS headers,
       ordering_key, tenant, replay_of, sent_key, tags::text AS tags, priority::integer AS priority, shard::integer AS shard,
       revision, status, dead_reason,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts, deadline_ms,
       coalesce(to_char(available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(available_at) #>> '{}') AS available_at, coalesce(to_char(deferred_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(deferred_from) #>> '{}') AS deferred_from,
       coalesce(to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(expires_at) #>> '{}') AS expires_at, coalesce(to_char(first_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(first_attempt_at) #>> '{}') AS first_attempt_at,
       traceparent, tracestate, last_error, last_status_code, receipt, coalesce(to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(created_at) #>> '{}') AS created_at,
       coalesce(to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(finished_at) #>> '{}') AS finished_at
FROM outbox WHERE id = $1
