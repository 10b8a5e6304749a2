-- For whom the messages are that have been due for longest. Of each priority the first 2,500 without an ordering key are looked at,
-- and as many with one, in no order: however many wait.
SELECT destination, channel, count(*) AS due,
       CASE WHEN isfinite(min(available_at)) THEN (extract(epoch FROM now() - min(available_at)) * 1000)::bigint END AS oldest_ms
FROM (
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0 AND available_at <= now()
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT channel, destination, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND available_at <= now() LIMIT 2500)
) looked_at
GROUP BY destination, channel
