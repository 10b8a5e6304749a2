-- How many rows of one priority are due behind a place: so many at most.
SELECT count(*) AS rows_due FROM (
    SELECT 1 AS one FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
      AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
      AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
    LIMIT ?5
) due
