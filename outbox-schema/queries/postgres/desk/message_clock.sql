-- How a message stands by the database's clock.
SELECT coalesce(to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(now()) #>> '{}') AS now, available_at <= now() AS due,
       CASE WHEN isfinite(available_at)
            THEN (extract(epoch FROM available_at - now()) * 1000)::bigint END AS due_in_ms,
       coalesce(expires_at <= now(), false) AS expired,
       CASE WHEN isfinite(expires_at) THEN (extract(epoch FROM expires_at - now()) * 1000)::bigint END AS expires_in_ms,
       CASE WHEN isfinite(first_attempt_at)
            THEN (extract(epoch FROM now() - first_attempt_at) * 1000)::bigint END AS tried_for_ms,
       CASE WHEN isfinite(coalesce(deferred_from, available_at)) AND isfinite(created_at)
            THEN (extract(epoch FROM coalesce(deferred_from, available_at) - created_at) * 1000)::bigint END AS delayed_by_ms,
       CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at - now()) * 1000)::bigint END AS created_in_ms,
       false AS rounds
FROM outbox WHERE id = $1
