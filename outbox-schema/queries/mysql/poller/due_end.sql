-- Of the due rows of one priority, behind a place: the last one of so many, which is where a step of a look ends. Nothing where there are
-- fewer.
SELECT o.id, CAST(o.available_at AS CHAR) AS at FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = ?2 AND o.available_at <= UTC_TIMESTAMP(6)
  AND (?3 IS NULL OR o.available_at > ?3 OR (o.available_at = ?3 AND o.id > ?4))
ORDER BY o.available_at, o.id LIMIT 1 OFFSET ?5
