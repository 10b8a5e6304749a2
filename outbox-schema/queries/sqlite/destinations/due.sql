-- Of the due rows of one priority in a stretch: those of destinations and channels that take nothing for now.
SELECT id, CAST(available_at AS TEXT) AS at FROM outbox INDEXED BY outbox_due
WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
  AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND (available_at, id) > (coalesce(CAST(?3 AS NUMERIC), -9e999), ?4)
  AND (available_at, id) <= (coalesce(CAST(?5 AS NUMERIC), 9e999), ?6)
  AND (destination IN (SELECT value FROM json_each(?7)) OR channel IN (SELECT value FROM json_each(?8)))
ORDER BY available_at, id LIMIT ?9
