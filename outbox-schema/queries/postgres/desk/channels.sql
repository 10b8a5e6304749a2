-- Reads what the partial indexes hold, and no history. A deferred message has been due since before its deferral; one
-- that was given a time in the past is no older than itself.
SELECT channel, sum(pending)::bigint AS pending, sum(due)::bigint AS due, sum(deferred)::bigint AS deferred,
       sum(dead)::bigint AS dead,
       CASE WHEN isfinite(min(oldest)) THEN (extract(epoch FROM now() - min(oldest)) * 1000)::bigint END AS lag_ms
FROM (
    SELECT channel, count(*) AS pending, count(*) FILTER (WHERE available_at <= now()) AS due,
           count(*) FILTER (WHERE deferred_from IS NOT NULL) AS deferred, 0 AS dead,
           min(greatest(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now()) AS oldest
    FROM outbox WHERE status = 'PENDING' AND ordering_key IS NULL GROUP BY channel
    UNION ALL
    SELECT channel, count(*), count(*) FILTER (WHERE available_at <= now()),
           count(*) FILTER (WHERE deferred_from IS NOT NULL), 0,
           min(greatest(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now())
    FROM outbox WHERE status = 'PENDING' AND ordering_key IS NOT NULL GROUP BY channel
    UNION ALL
    SELECT o.channel, 0, 0, 0, letters, NULL
    FROM (SELECT count(*) AS letters, max(id) AS example FROM outbox WHERE status = 'DEAD' GROUP BY fingerprint) dead
    JOIN outbox o ON o.id = dead.example
) parts
GROUP BY channel ORDER BY channel
