-- What few tenants have due, with whose turn it is: see turns.rs. A branch for each tenant and priority follows: claim_glance_turn.sql.
WITH excluded AS (SELECT x.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) x),
closed AS (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
               name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
