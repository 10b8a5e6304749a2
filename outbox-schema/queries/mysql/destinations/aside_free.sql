-- Due rows of destinations and channels that take nothing for now, locked. What is being cancelled must not keep it waiting.
SELECT o.id, o.destination, o.channel FROM outbox o FORCE INDEX (outbox_due)
WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority IN (0, 1, 2, 3)
  AND o.available_at <= UTC_TIMESTAMP(6)
  AND o.id NOT IN (SELECT x.id FROM JSON_TABLE(?3, '$[*]' COLUMNS (id bigint PATH '$')) x)
  AND (o.destination IN (SELECT c.name FROM JSON_TABLE(?2, '$[*]' COLUMNS (
                             name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c)
       OR o.channel IN (SELECT c.name FROM JSON_TABLE(?5, '$[*]' COLUMNS (
                            name varchar(255) CHARACTER SET utf8mb4 PATH '$')) c))
LIMIT ?4 FOR UPDATE SKIP LOCKED
