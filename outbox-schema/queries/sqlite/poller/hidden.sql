-- Of the due rows of one priority in a stretch: those of these tenants for destinations that take something.
SELECT o.id, CAST(o.available_at AS TEXT) AS at, o.revision, o.channel, o.destination, o.priority,
       o.payload_bytes + length(CAST(o.target AS BLOB)) + coalesce(length(CAST(o.headers AS BLOB)), 0) AS bytes,
       FALSE AS ordered, NULL AS start_us
FROM outbox o INDEXED BY outbox_due
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2
  AND o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (o.available_at, o.id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
  AND (o.available_at, o.id) <= (coalesce(CAST(?5 AS NUMERIC), 9e999), ?6)
  AND o.destination IN (SELECT value FROM json_each(?7))
  AND o.id NOT IN (SELECT value FROM json_each(?8))
  AND (o.channel, o.tenant) IN (SELECT value ->> 'channel', value ->> 'tenant' FROM json_each(?9))
ORDER BY o.available_at, o.id LIMIT ?10
