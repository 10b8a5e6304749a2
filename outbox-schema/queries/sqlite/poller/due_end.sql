-- Of the due rows of one priority, behind a place: the last one of so many, which is where a step of a look ends. Nothing where there are
-- fewer.
SELECT id, CAST(available_at AS TEXT) AS at FROM outbox INDEXED BY outbox_due
WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
  AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
ORDER BY available_at, id LIMIT 1 OFFSET ?5
