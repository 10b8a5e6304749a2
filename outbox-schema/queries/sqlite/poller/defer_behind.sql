-- Having met one row of an unknown channel, find those behind it: they would only be met next.
SELECT id, channel FROM outbox INDEXED BY outbox_due
WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority IN (0, 1, 2, 3)
  AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND id NOT IN (SELECT value FROM json_each(?2))
  AND channel NOT IN (SELECT value ->> 'name' FROM json_each(?3))
LIMIT 5000
