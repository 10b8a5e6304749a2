-- Whose turn it may be: the tenants of a channel behind one of them, or from the first on, found by stepping from one to the next in
-- the index. A number comes before all texts.
WITH RECURSIVE tenant(name) AS (
    SELECT (SELECT coalesce(tenant, destination) FROM outbox INDEXED BY outbox_turns
            WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel = ?2
              AND coalesce(tenant, destination) > coalesce(?3, 0)
            ORDER BY coalesce(tenant, destination) LIMIT 1)
    UNION ALL
    SELECT (SELECT coalesce(tenant, destination) FROM outbox INDEXED BY outbox_turns
            WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel = ?2
              AND coalesce(tenant, destination) > tenant.name
            ORDER BY coalesce(tenant, destination) LIMIT 1)
    FROM tenant WHERE tenant.name IS NOT NULL
    LIMIT ?4
)
SELECT name FROM tenant WHERE name IS NOT NULL
