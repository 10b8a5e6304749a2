-- The first due row of each of these tenants, of each priority. MySQL sorts all rows of a tenant where
-- their order does not begin with `turn`, which is no constant here.
SELECT (SELECT o.id FROM outbox o FORCE INDEX (outbox_turns)
        WHERE o.shard = ? AND o.turn = (((CRC32(served.channel) & 32767) << 32) | CRC32(served.tenant))
          AND o.priority = priority.number AND o.available_at <= UTC_TIMESTAMP(6)
          AND o.id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
          AND o.destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                  name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
          AND o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                  name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
        ORDER BY o.turn, o.priority, o.available_at, o.id LIMIT 1) AS id
FROM JSON_TABLE(?, '$[*]' COLUMNS (channel varchar(255) PATH '$[0]', tenant text PATH '$[1]')) served
CROSS JOIN JSON_TABLE('[3, 2, 1, 0]', '$[*]' COLUMNS (number smallint PATH '$')) priority
