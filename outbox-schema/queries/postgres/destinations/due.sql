-- Of the due rows of one priority in a stretch: those of destinations and channels that take nothing for now. Nothing is locked here, see
-- locked.sql. Names are hashed: the elements of an array would be compared one by one.
SELECT o.id, o.available_at::text AS at FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
  AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
  AND (o.available_at, o.id) <= (coalesce($5::timestamptz, 'infinity'), $6)
  AND (o.destination IN (SELECT json_array_elements_text($7::json)) OR o.channel IN (SELECT json_array_elements_text($8::json)))
ORDER BY o.available_at, o.id LIMIT $9
