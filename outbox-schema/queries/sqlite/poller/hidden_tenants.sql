-- The tenants that have due rows of one priority, in a stretch, for destinations that take something, and whose first row goes to one that
-- takes nothing. A tenant that is a destination has no such rows.
--
-- The index of turns is one of an expression, and serves what has no affinity: hence the sign before met.tenant.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT met.channel, met.tenant FROM (
    SELECT DISTINCT o.channel, o.tenant
    FROM outbox o INDEXED BY outbox_due
    WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2
      AND o.available_at <= (SELECT ms FROM now)
      AND (o.available_at, o.id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
      AND (o.available_at, o.id) <= (coalesce(CAST(?5 AS NUMERIC), 9e999), ?6)
      AND o.tenant IS NOT NULL AND o.destination IN (SELECT value FROM json_each(?7))
) met
WHERE (SELECT first.destination FROM outbox first INDEXED BY outbox_turns
       WHERE first.shard = ?1 AND first.status = 'PENDING' AND first.ordering_key IS NULL
         AND first.channel = met.channel AND coalesce(first.tenant, first.destination) = +met.tenant
         AND first.priority = ?2 AND first.available_at <= (SELECT ms FROM now)
       ORDER BY first.available_at, first.id LIMIT 1) NOT IN (SELECT value FROM json_each(?7))
LIMIT 4096
