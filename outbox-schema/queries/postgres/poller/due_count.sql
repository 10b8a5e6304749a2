-- How many rows of one priority are due behind a place: so many at most.
SELECT count(*) AS rows_due FROM (
    SELECT 1 AS one FROM outbox o
    WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = $2 AND o.available_at <= now()
      AND (o.available_at, o.id) > (coalesce($3::timestamptz, '-infinity'), $4)
    LIMIT $5
) due
