-- The tenants that have due rows of one priority, in a stretch, for destinations that take something, and whose first row goes to one that
-- takes nothing. A tenant that is a destination has no such rows.
--
-- Names are hashed: the elements of an array would be compared one by one. The first row is asked for as a stretch of the index of
-- turns: as an equal value, it could be looked for in the order of another index, past the rows of all others.
SELECT met.channel, met.tenant FROM (
    SELECT DISTINCT o.channel::text AS channel, o.tenant::text AS tenant,
           (((hashtextextended(o.channel, 0) & 32767) << 48)
            | (hashtextextended(coalesce(o.tenant, o.destination), 0) & 281474976710655)) AS turn
    FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
      AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
      AND (o.available_at, o.id) <= (coalesce($5::timestamptz, 'infinity'), $6)
      AND o.tenant IS NOT NULL AND o.destination IN (SELECT json_array_elements_text($7::json))
) met
WHERE (SELECT first.destination::text FROM outbox first
       WHERE first.shard = $1 AND first.status = 'PENDING' AND first.ordering_key IS NULL
         AND ((((hashtextextended(first.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
              first.priority, first.available_at, first.id) > (met.turn, $2::smallint, timestamptz '-infinity', 0)
         AND ((((hashtextextended(first.channel, 0) & 32767) << 48)
              | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
              first.priority, first.available_at) <= (met.turn, $2::smallint, now())
       ORDER BY (((hashtextextended(first.channel, 0) & 32767) << 48)
                 | (hashtextextended(coalesce(first.tenant, first.destination), 0) & 281474976710655)),
                first.priority, first.available_at, first.id LIMIT 1)
      NOT IN (SELECT json_array_elements_text($7::json))
LIMIT 4096
