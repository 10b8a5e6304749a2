-- How many rows of one priority are due behind a place: so many at most.
SELECT CAST(COUNT(*) AS SIGNED) AS rows_due FROM (
    SELECT 1 AS one FROM outbox o FORCE INDEX (outbox_due)
    WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
      AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
    LIMIT ?5
) due
