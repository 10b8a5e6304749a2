-- Who has most of what has been due for longest. Of each priority the first 10,000 messages without an ordering key are looked at,
-- however many wait. Tenants with few are left out.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT channel, tenant, count(*) AS due, CAST((SELECT now_ms FROM clock) - min(available_at) AS INTEGER) AS lag_ms
FROM (
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    SELECT * FROM (
        SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0
          AND available_at <= (SELECT now_ms FROM clock)
        ORDER BY available_at, id LIMIT 10000)
) longest
GROUP BY channel, tenant HAVING count(*) >= 100 ORDER BY due DESC, channel, tenant LIMIT 5
