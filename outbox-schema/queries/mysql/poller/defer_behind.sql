-- Having met one row of an unknown channel, find those among the next 2,500 of each priority: they would only be met next. That is a
-- bound: where they are few, one look after the other would read the backlog for them.
SELECT due.id, due.channel FROM (
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
    UNION ALL
    (SELECT id, channel FROM outbox FORCE INDEX (outbox_due)
     WHERE status = 'PENDING' AND shard = ?1 AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
     ORDER BY available_at, id LIMIT 2500)
) due
LEFT JOIN JSON_TABLE(?2, '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$.name')) known ON known.name = due.channel
WHERE known.name IS NULL
