-- No start of a walk is younger than a second: transactions that began a moment ago may be committing still.
SELECT claimed, id, revision, idempotency_key, channel, target, destination,
       coalesce(payload::text, '') AS payload, headers::text AS headers,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts,
       CASE WHEN isfinite(expires_at) THEN (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
            WHEN expires_at = '-infinity' THEN 0 END AS expires_in_ms,
       (extract(epoch FROM clock_timestamp() - first_attempt_at) * 1000)::bigint AS retrying_for_ms,
       CASE WHEN isfinite(created_at)
            THEN (extract(epoch FROM clock_timestamp() - created_at) * 1000)::bigint ELSE 0 END AS waited_ms,
       CASE WHEN isfinite(created_at) THEN floor(extract(epoch FROM created_at) * 1000)::bigint END AS created_ms,
       ordering_key, traceparent, tracestate, priority,
       -- Asked of each row only where there are any.
       CASE WHEN (SELECT EXISTS (SELECT FROM outbox_invalid_target)) THEN EXISTS (
           SELECT FROM outbox_invalid_target gone
           WHERE gone.channel = due.channel AND md5(gone.target) = md5(due.target)) ELSE false END AS target_is_gone,
       -- In two parts, because PostgreSQL 13 has no exact number for the whole.
       CASE WHEN isfinite(available_at)
            THEN floor(extract(epoch FROM least(available_at, now() - interval '1 s')))::bigint * 1000000
                 + extract(microseconds FROM least(available_at, now() - interval '1 s'))::bigint % 1000000 END AS start_us,
       nth
FROM outbox_claim_due($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                      $17, $18, $19, $20) due
