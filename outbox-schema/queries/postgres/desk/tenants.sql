-- Who has most of what has been due for longest. Of each priority the first 10,000 messages without an ordering key are looked at,
-- however many wait. Tenants with few are left out.
SELECT channel, tenant, count(*) AS due,
       CASE WHEN isfinite(min(available_at)) THEN (extract(epoch FROM now() - min(available_at)) * 1000)::bigint END AS lag_ms
FROM (
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
    UNION ALL
    (SELECT channel, coalesce(tenant, destination) AS tenant, available_at FROM outbox
     WHERE shard = $1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0 AND available_at <= now()
     ORDER BY available_at, id LIMIT 10000)
) longest
GROUP BY channel, tenant HAVING count(*) >= 100 ORDER BY due DESC, channel, tenant LIMIT 5
