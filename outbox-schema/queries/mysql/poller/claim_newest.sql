-- The newest due rows that were never tried, of each priority. Of those that come due again there may be any number.
(SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox FORCE INDEX (outbox_due)
 WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL AND priority = 3 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at DESC, id DESC LIMIT 512) due
 WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?)
UNION ALL
(SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox FORCE INDEX (outbox_due)
 WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL AND priority = 2 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at DESC, id DESC LIMIT 512) due
 WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?)
UNION ALL
(SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox FORCE INDEX (outbox_due)
 WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL AND priority = 1 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at DESC, id DESC LIMIT 512) due
 WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?)
UNION ALL
(SELECT id FROM (SELECT id, available_at, first_attempt_at FROM outbox FORCE INDEX (outbox_due)
 WHERE status = 'PENDING' AND shard = ? AND ordering_key IS NULL AND priority = 0 AND available_at <= UTC_TIMESTAMP(6)
   AND id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
   AND destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
   AND channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
           name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
 ORDER BY available_at DESC, id DESC LIMIT 512) due
 WHERE first_attempt_at IS NULL ORDER BY available_at DESC, id DESC LIMIT ?)
