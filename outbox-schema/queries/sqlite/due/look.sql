-- Due rows of each priority, behind the place that is given, if any. Rows and lanes may be passed over: this is a filter, so
-- the index ends the look all the same.
FROM json_each(?2) start CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_due
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NULL AND d.priority = start.value ->> 0
      AND d.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
      AND (d.available_at, d.id) > (coalesce((start.value ->> 1) / 1000.0, -9e999), start.value ->> 2)
      AND d.id NOT IN (SELECT value FROM json_each(?4))
      AND (d.channel, coalesce(d.tenant, d.destination)) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?5))
    ORDER BY d.available_at, d.id LIMIT ?3)
