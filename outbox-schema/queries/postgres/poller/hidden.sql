-- Of the due rows of one priority in a stretch: those whose destinations take something, where the first row of their tenant goes to one
-- that takes nothing. A tenant that is a destination has no such rows.
--
-- Names are hashed: the elements of an array would be compared one by one. The first row is asked for as a stretch of the index of
-- turns: as an equal value, it could be looked for in the order of another index, past the rows of all others.
SELECT o.id, o.available_at::text AS at, o.revision, o.channel::text AS channel, o.destination::text AS destination, o.priority,
       o.payload_bytes::bigint + octet_length(o.target) + coalesce(pg_column_size(o.headers), 0) AS bytes,
       false AS ordered, NULL::bigint AS start_us
FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
  AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
  AND (o.available_at, o.id) <= (coalesce($5::timestamptz, 'infinity'), $6)
  AND CASE WHEN o.tenant IS NOT NULL AND o.destination IN (SELECT json_array_elements_text($7::json))
                AND o.id NOT IN (SELECT json_array_elements_text($8::json)::bigint)
           THEN (SELECT first.destination::text FROM outbox first
                 WHERE first.shard = $1 AND first.status = 'PENDING' AND first.ordering_key IS NULL
                   AND ((((hashtextextended(first.channel, 0) & 32767) << 48)
                        | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                        first.priority, first.available_at, first.id)
                       > ((((hashtextextended(o.channel, 0) & 32767) << 48)
                          | (hashtextextended(o.tenant, 0) & 281474976710655)), o.priority, timestamptz '-infinity', 0)
                   AND ((((hashtextextended(first.channel, 0) & 32767) << 48)
                        | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                        first.priority, first.available_at)
                       <= ((((hashtextextended(o.channel, 0) & 32767) << 48)
                           | (hashtextextended(o.tenant, 0) & 281474976710655)), o.priority, now())
                 ORDER BY (((hashtextextended(first.channel, 0) & 32767) << 48)
                           | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                          first.priority, first.available_at, first.id LIMIT 1)
                NOT IN (SELECT json_array_elements_text($7::json)) END
ORDER BY o.available_at, o.id LIMIT $9
