-- Having met one row of an unknown channel, find those among the next 2,500 of each priority: they would only be met next. That is a
-- bound: where they are few, one look after the other would read the backlog for them.
SELECT id, channel FROM (
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 3
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 2
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 1
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    SELECT * FROM (
        SELECT id, channel FROM outbox INDEXED BY outbox_due
        WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = 0
          AND available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
        ORDER BY available_at, id LIMIT 2500)
)
WHERE channel NOT IN (SELECT value ->> 'name' FROM json_each(?2))
