-- Who has most of what has been due for longest. Of each priority the first 10,000 messages without an ordering key are looked at,
-- however many wait. Tenants with few are left out.
SELECT channel, tenant, COUNT(*) AS due, TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6)) DIV 1000 AS lag_ms
FROM (
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, COALESCE(tenant, destination) AS tenant, available_at FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 10000)
) longest
GROUP BY channel, tenant HAVING COUNT(*) >= 100 ORDER BY due DESC, channel, tenant LIMIT 5
