-- The first due row of each of these tenants of a channel, of each priority.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT id FROM (
    SELECT (SELECT o.id FROM outbox o INDEXED BY outbox_turns
            WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.channel = ?2
              AND coalesce(o.tenant, o.destination) = tenant.value AND o.priority = priority.value
              AND o.available_at <= (SELECT ms FROM now)
              AND o.id NOT IN (SELECT value FROM json_each(?3))
              AND o.destination NOT IN (SELECT value FROM json_each(?5))
              AND o.channel NOT IN (SELECT value FROM json_each(?6))
            ORDER BY o.available_at, o.id LIMIT 1) AS id
    FROM json_each(?4) tenant CROSS JOIN json_each('[3, 2, 1, 0]') priority
) WHERE id IS NOT NULL
