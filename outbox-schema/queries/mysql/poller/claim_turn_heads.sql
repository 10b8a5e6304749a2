-- The first due row of each tenant and priority that claim_tenants.sql found. MySQL sorts all rows of a tenant where
-- their order does not begin with `turn`, which is no constant here.
SELECT (SELECT o.id FROM outbox o FORCE INDEX (outbox_turns)
        WHERE o.shard = ? AND o.turn = head.turn AND o.priority = head.priority AND o.available_at <= UTC_TIMESTAMP(6)
          AND o.id NOT IN (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x)
          AND o.destination NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                  name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
          AND o.channel NOT IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                  name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
        ORDER BY o.turn, o.priority, o.available_at, o.id LIMIT 1) AS id
FROM JSON_TABLE(?, '$[*]' COLUMNS (
         turn bigint PATH '$[0]', priority smallint PATH '$[1]', due_at datetime(6) PATH '$[2]')) head
WHERE head.due_at <= UTC_TIMESTAMP(6)
