SELECT id, idempotency_key, channel, target, destination, CASE WHEN payload_bytes <= ?2 THEN CAST(payload AS CHAR) END AS payload,
       CAST(payload_bytes AS SIGNED) AS payload_bytes,
       CAST(headers AS CHAR) AS headers, ordering_key, tenant, replay_of, sent_key, CAST(tags AS CHAR) AS tags, priority, shard,
       revision, status, dead_reason, attempts,
       max_attempts, deadline_ms, DATE_FORMAT(available_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS available_at,
       DATE_FORMAT(deferred_from, '%Y-%m-%dT%H:%i:%s.%fZ') AS deferred_from,
       DATE_FORMAT(expires_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires_at,
       DATE_FORMAT(first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS first_attempt_at, traceparent, tracestate,
       last_error, last_status_code, receipt, DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS created_at,
       DATE_FORMAT(finished_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS finished_at
FROM outbox WHERE id = ?1
