-- The first rows of a tenant, of each priority.
(SELECT id FROM outbox FORCE INDEX (outbox_turns)
 WHERE shard = ? AND turn = ? AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at, id LIMIT ?)
UNION ALL
(SELECT id FROM outbox FORCE INDEX (outbox_turns)
 WHERE shard = ? AND turn = ? AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at, id LIMIT ?)
UNION ALL
(SELECT id FROM outbox FORCE INDEX (outbox_turns)
 WHERE shard = ? AND turn = ? AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at, id LIMIT ?)
UNION ALL
(SELECT id FROM outbox FORCE INDEX (outbox_turns)
 WHERE shard = ? AND turn = ? AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at, id LIMIT ?)
