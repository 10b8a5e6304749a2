-- Of these rows, those that are due and whose channel is not configured.
SELECT o.id, o.channel FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) met
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = met.id AND o.status = 'PENDING'
LEFT JOIN JSON_TABLE(?, '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$.name')) known ON known.name = o.channel
WHERE o.shard = ? AND o.available_at <= UTC_TIMESTAMP(6) AND known.name IS NULL
