-- Having met one row of an unknown channel, find those behind it: they would only be met next.
SELECT o.id, o.channel FROM outbox o FORCE INDEX (outbox_due)
LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$.name')) known
       ON known.name = o.channel
WHERE o.status = 'PENDING' AND o.shard = ? AND o.ordering_key IS NULL AND o.priority IN (0, 1, 2, 3)
  AND o.available_at <= UTC_TIMESTAMP(6)
  AND o.id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
  AND known.name IS NULL
LIMIT 5000
