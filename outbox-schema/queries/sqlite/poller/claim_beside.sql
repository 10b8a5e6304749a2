-- Due rows by their ids, with whose turn it is: see turns.rs.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
SELECT o.id, o.revision, o.channel, o.destination, o.priority, FALSE AS ordered,
       o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0) AS bytes,
       CASE WHEN o.available_at > -9e15 THEN CAST(min(o.available_at, now.ms - 1000) AS INTEGER) * 1000 END AS start_us,
       coalesce(o.tenant, o.destination) AS tenant, CAST(o.available_at AS INTEGER) AS age
FROM json_each(?1) met CROSS JOIN outbox o ON o.id = met.value CROSS JOIN now
WHERE o.status = 'PENDING' AND o.available_at <= now.ms
  AND o.destination NOT IN (SELECT value FROM json_each(?2)) AND o.channel NOT IN (SELECT value FROM json_each(?3))
