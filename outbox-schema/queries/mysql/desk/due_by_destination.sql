-- For whom the messages are that have been due for longest. Of each priority the first 2,500 without an ordering key are looked at,
-- and as many with one, in no order: however many wait.
SELECT destination, channel, COUNT(*) AS due, TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6)) DIV 1000 AS oldest_ms
FROM (
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox FORCE INDEX (outbox_ordered)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NOT NULL AND available_at <= UTC_TIMESTAMP(6) LIMIT 2500)
) looked_at
GROUP BY destination, channel
