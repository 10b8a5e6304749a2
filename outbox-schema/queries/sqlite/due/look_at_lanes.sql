-- Due rows of lanes, each of one priority and behind the place that is given, if any. Names are given as bytes: not all are
-- UTF-8. The index is of an expression, which has no affinity: a plus takes that of the name away, or the index ends at the
-- channel.
FROM json_each(?2) start CROSS JOIN outbox o ON o.id IN (
    SELECT d.id FROM outbox d INDEXED BY outbox_turns
    WHERE d.shard = ?1 AND d.status = 'PENDING' AND d.ordering_key IS NULL
      AND d.channel = CAST(unhex(start.value ->> 0) AS TEXT)
      AND coalesce(d.tenant, d.destination) = +CAST(unhex(start.value ->> 1) AS TEXT)
      AND d.priority = start.value ->> '$[2][0]' AND d.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
      AND (d.available_at, d.id) > (coalesce((start.value ->> '$[2][1]') / 1000.0, -9e999), start.value ->> '$[2][2]')
    ORDER BY d.available_at, d.id LIMIT ?3)
