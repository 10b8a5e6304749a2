-- The first due rows of a tenant of a channel, of each priority.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT * FROM (
    SELECT id FROM outbox INDEXED BY outbox_turns
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel = ?2
      AND coalesce(tenant, destination) = ?3 AND priority = 3 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?4))
      AND destination NOT IN (SELECT value FROM json_each(?6))
      AND channel NOT IN (SELECT value FROM json_each(?7))
    ORDER BY available_at, id LIMIT ?5)
UNION ALL
SELECT * FROM (
    SELECT id FROM outbox INDEXED BY outbox_turns
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel = ?2
      AND coalesce(tenant, destination) = ?3 AND priority = 2 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?4))
      AND destination NOT IN (SELECT value FROM json_each(?6))
      AND channel NOT IN (SELECT value FROM json_each(?7))
    ORDER BY available_at, id LIMIT ?5)
UNION ALL
SELECT * FROM (
    SELECT id FROM outbox INDEXED BY outbox_turns
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel = ?2
      AND coalesce(tenant, destination) = ?3 AND priority = 1 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?4))
      AND destination NOT IN (SELECT value FROM json_each(?6))
      AND channel NOT IN (SELECT value FROM json_each(?7))
    ORDER BY available_at, id LIMIT ?5)
UNION ALL
SELECT * FROM (
    SELECT id FROM outbox INDEXED BY outbox_turns
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel = ?2
      AND coalesce(tenant, destination) = ?3 AND priority = 0 AND available_at <= (SELECT ms FROM now)
      AND id NOT IN (SELECT value FROM json_each(?4))
      AND destination NOT IN (SELECT value FROM json_each(?6))
      AND channel NOT IN (SELECT value FROM json_each(?7))
    ORDER BY available_at, id LIMIT ?5)
