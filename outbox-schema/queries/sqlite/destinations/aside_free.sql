-- Due rows of destinations and channels that take nothing for now.
SELECT id, destination, channel FROM outbox INDEXED BY outbox_due
WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority IN (0, 1, 2, 3)
  AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND id NOT IN (SELECT value FROM json_each(?3))
  AND (destination IN (SELECT value FROM json_each(?2)) OR channel IN (SELECT value FROM json_each(?5)))
LIMIT ?4
