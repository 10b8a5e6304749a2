SELECT id, idempotency_key, channel, target, destination, CASE WHEN payload_bytes <= ?2 THEN payload END AS payload,
       payload_bytes, headers, ordering_key, tenant, replay_of, sent_key, tags,
       priority, shard, revision, status, dead_reason, attempts, max_attempts, deadline_ms,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', available_at / 1000.0, 'unixepoch'), CAST(available_at AS TEXT)) AS available_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', deferred_from / 1000.0, 'unixepoch'), CAST(deferred_from AS TEXT)) AS deferred_from,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', expires_at / 1000.0, 'unixepoch'), CAST(expires_at AS TEXT)) AS expires_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', first_attempt_at / 1000.0, 'unixepoch'), CAST(first_attempt_at AS TEXT)) AS first_attempt_at,
       traceparent, tracestate, last_error, last_status_code, receipt,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'), CAST(created_at AS TEXT)) AS created_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch'), CAST(finished_at AS TEXT)) AS finished_at
FROM outbox WHERE id = ?1
