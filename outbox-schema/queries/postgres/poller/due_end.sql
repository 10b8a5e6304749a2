-- Of the due rows of one priority, behind a place: the last one of so many, which is where a step of a look ends. Nothing where there are
-- fewer.
SELECT o.id, o.available_at::text AS at FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
  AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
ORDER BY o.available_at, o.id LIMIT 1 OFFSET $5
