-- Of the due rows of one priority in a stretch: those whose destinations take something, where the first row of their tenant goes to one
-- that takes nothing. A tenant that is a destination has no such rows.
--
-- The index of turns is one of an expression, and serves what has no affinity: hence the sign before o.tenant.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT o.id, CAST(o.available_at AS TEXT) AS at, o.revision, o.channel, o.destination, o.priority,
       o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0) AS bytes,
       FALSE AS ordered, NULL AS start_us
FROM outbox o INDEXED BY outbox_due
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2
  AND o.available_at <= (SELECT ms FROM now)
  AND (o.available_at, o.id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
  AND (o.available_at, o.id) <= (coalesce(CAST(?5 AS NUMERIC), 9e999), ?6)
  AND o.tenant IS NOT NULL AND o.destination IN (SELECT value FROM json_each(?7))
  AND o.id NOT IN (SELECT value FROM json_each(?8))
  AND (SELECT first.destination FROM outbox first INDEXED BY outbox_turns
       WHERE first.shard = ?1 AND first.status = 'PENDING' AND first.ordering_key IS NULL
         AND first.channel = o.channel AND coalesce(first.tenant, first.destination) = +o.tenant
         AND first.priority = ?2 AND first.available_at <= (SELECT ms FROM now)
       ORDER BY first.available_at, first.id LIMIT 1) NOT IN (SELECT value FROM json_each(?7))
ORDER BY o.available_at, o.id LIMIT ?9
