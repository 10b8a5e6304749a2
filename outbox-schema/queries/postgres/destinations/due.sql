-- Of the due rows of one priority, so many behind a place: those of destinations and channels that take nothing for now, and the
-- last one looked at, with its number. Names are hashed: the elements of an array would be compared one by one. Nothing is locked
-- here, see locked.sql.
SELECT id, at, destination, channel, nth FROM (
    SELECT looked.*, row_number() OVER (ORDER BY looked.available_at, looked.id) AS nth,
           count(*) OVER () AS many FROM (
        SELECT o.id, o.available_at, o.available_at::text AS at, o.destination::text AS destination, o.channel::text AS channel
        FROM outbox o
        WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
          AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
        ORDER BY o.available_at, o.id LIMIT $5) looked
) numbered
WHERE nth = many OR destination IN (SELECT json_array_elements_text($6::json))
   OR channel IN (SELECT json_array_elements_text($7::json))
ORDER BY nth LIMIT $8
