-- For whom the messages are that have been due for longest. Of each priority the first 2,500 without an ordering key are looked at,
-- and as many with one, in no order: however many wait.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT destination, channel, count(*) AS due, CAST((SELECT now_ms FROM clock) - min(available_at) AS INTEGER) AS oldest_ms
FROM (
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT channel, destination, available_at FROM outbox INDEXED BY outbox_ordered
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND available_at <= (SELECT now_ms FROM clock)
        LIMIT 2500)
) looked_at
GROUP BY destination, channel
