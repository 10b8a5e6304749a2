-- The columns of a row that was claimed or shown: `due`. `wanted.bodies` is false where the rows cannot all be read: each is
-- then read by itself (claimed_body.sql).
--
-- Seconds are floating-point numbers here, which take a fifth of the time of exact ones and tell microseconds apart until
-- the year 2100.
SELECT claimed, place, id, revision, priority, available_at, idempotency_key, channel, target, destination, bytes, too_large,
       CASE WHEN wanted.bodies THEN coalesce(payload::text, '') ELSE '' END AS payload, CASE WHEN wanted.bodies THEN headers::text END AS headers,
       attempts::integer AS attempts, max_attempts::integer AS max_attempts,
       CASE WHEN isfinite(expires_at) THEN (date_part('epoch', expires_at - clock_timestamp()) * 1000)::bigint
            WHEN expires_at = '-infinity' THEN 0 END AS expires_in_ms,
       CASE WHEN isfinite(first_attempt_at)
            THEN (date_part('epoch', clock_timestamp() - first_attempt_at) * 1000)::bigint END AS retrying_for_ms,
       CASE WHEN isfinite(created_at)
            THEN (date_part('epoch', clock_timestamp() - created_at) * 1000)::bigint ELSE 0 END AS waited_ms,
       CASE WHEN isfinite(created_at) THEN floor(round(date_part('epoch', created_at) * 1e6) / 1000)::bigint END AS created_ms,
       deadline_ms, ordering_key, tenant, traceparent, tracestate,
       -- Asked of each row only where there are any.
       CASE WHEN (SELECT EXISTS (SELECT FROM outbox_invalid_target)) THEN EXISTS (
           SELECT FROM outbox_invalid_target gone
           WHERE gone.channel = due.channel AND md5(gone.target) = md5(due.target)) ELSE false END AS target_is_gone
