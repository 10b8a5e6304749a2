-- Of these rows, those that are due and whose channel is not configured.
SELECT o.id, o.channel FROM json_each(?1) met CROSS JOIN outbox o ON o.id = met.value
WHERE o.shard = ?3 AND o.status = 'PENDING' AND o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
  AND o.channel NOT IN (SELECT value ->> 'name' FROM json_each(?2))
