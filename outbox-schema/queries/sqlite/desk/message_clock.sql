-- How a message stands by the database's clock.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', now_ms / 1000.0, 'unixepoch') AS now, available_at <= now_ms AS due,
       CAST(available_at - now_ms AS INTEGER) AS due_in_ms, coalesce(expires_at <= now_ms, 0) AS expired,
       CAST(expires_at - now_ms AS INTEGER) AS expires_in_ms,
       CAST(now_ms - first_attempt_at AS INTEGER) AS tried_for_ms,
       CAST(coalesce(deferred_from, available_at) - created_at AS INTEGER) AS delayed_by_ms,
       CAST(created_at - now_ms AS INTEGER) AS created_in_ms, 0 AS rounds
FROM outbox, clock WHERE id = ?1
