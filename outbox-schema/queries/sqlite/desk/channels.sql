-- Reads what the partial indexes hold, and no history. A deferred message has been due since before its deferral; one
-- that was given a time in the past is no older than itself.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT channel, sum(pending) AS pending, sum(due) AS due, sum(deferred) AS deferred, sum(dead) AS dead,
       CAST((SELECT now_ms FROM clock) - min(oldest) AS INTEGER) AS lag_ms
FROM (
    SELECT channel, count(*) AS pending, count(*) FILTER (WHERE available_at <= now_ms) AS due,
           count(deferred_from) AS deferred, 0 AS dead,
           min(max(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now_ms) AS oldest
    FROM outbox, clock WHERE status = 'PENDING' AND ordering_key IS NULL GROUP BY channel
    UNION ALL
    SELECT channel, count(*), count(*) FILTER (WHERE available_at <= now_ms), count(deferred_from), 0,
           min(max(coalesce(deferred_from, available_at), created_at))
               FILTER (WHERE coalesce(deferred_from, available_at) <= now_ms)
    FROM outbox, clock WHERE status = 'PENDING' AND ordering_key IS NOT NULL GROUP BY channel
    UNION ALL
    SELECT o.channel, 0, 0, 0, letters, NULL
    FROM (SELECT count(*) AS letters, max(id) AS example FROM outbox INDEXED BY outbox_dead
          WHERE status = 'DEAD' GROUP BY fingerprint) dead
    JOIN outbox o ON o.id = dead.example
) parts
GROUP BY channel ORDER BY channel
