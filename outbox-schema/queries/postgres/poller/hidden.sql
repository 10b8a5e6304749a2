-- Of the due rows of one priority in a stretch: those of these tenants for destinations that take something.
SELECT o.id, o.available_at::text AS at, o.revision, o.channel::text AS channel, o.destination::text AS destination, o.priority,
       o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
       false AS ordered, NULL::bigint AS start_us
FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
  AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
  AND (o.available_at, o.id) <= (coalesce($5::timestamptz, 'infinity'), $6)
  AND o.destination IN (SELECT json_array_elements_text($7::json))
  AND o.id NOT IN (SELECT json_array_elements_text($8::json)::bigint)
  AND (o.channel, o.tenant) IN (SELECT met ->> 'channel', met ->> 'tenant' FROM json_array_elements($9::json) met)
ORDER BY o.available_at, o.id LIMIT $10
