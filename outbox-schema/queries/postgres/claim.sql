-- Claimed rows are due; rows that the claim met and deferred no longer are.
SELECT available_at <= now() AS claimed, id, revision, idempotency_key, channel, target, destination,
       CASE WHEN available_at <= now() THEN payload::text ELSE '' END AS payload, headers::text AS headers,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts,
       CASE WHEN isfinite(expires_at) THEN (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
            WHEN expires_at = '-infinity' THEN 0 END AS expires_in_ms,
       (extract(epoch FROM clock_timestamp() - first_attempt_at) * 1000)::bigint AS retrying_for_ms,
       CASE WHEN isfinite(created_at)
            THEN (extract(epoch FROM clock_timestamp() - created_at) * 1000)::bigint ELSE 0 END AS waited_ms,
       CASE WHEN isfinite(created_at) THEN floor(extract(epoch FROM created_at) * 1000)::bigint END AS created_ms,
       ordering_key, traceparent, tracestate
FROM outbox_claim_due($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
