-- Reads what is pending or dead, and no history. A deferred message has been due since before its deferral; one
-- that was given a time in the past is no older than itself.
SELECT channel, CAST(SUM(pending) AS SIGNED) AS pending, CAST(SUM(due) AS SIGNED) AS due,
       CAST(SUM(deferred) AS SIGNED) AS deferred, CAST(SUM(dead) AS SIGNED) AS dead,
       TIMESTAMPDIFF(MICROSECOND, MIN(oldest), UTC_TIMESTAMP(6)) DIV 1000 AS lag_ms
FROM (
    SELECT channel, COUNT(*) AS pending, COUNT(IF(available_at <= UTC_TIMESTAMP(6), 1, NULL)) AS due,
           COUNT(deferred_from) AS deferred, 0 AS dead,
           MIN(IF(COALESCE(deferred_from, available_at) <= UTC_TIMESTAMP(6),
                  GREATEST(COALESCE(deferred_from, available_at), created_at), NULL)) AS oldest
    FROM outbox FORCE INDEX (outbox_due) WHERE status = 'PENDING' GROUP BY channel
    UNION ALL
    SELECT o.channel, 0, 0, 0, letters, NULL
    FROM (SELECT COUNT(*) AS letters, MAX(id) AS example FROM outbox FORCE INDEX (outbox_dead)
          WHERE fingerprint > '' GROUP BY fingerprint) dead
    STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = dead.example
) parts
GROUP BY channel ORDER BY channel
