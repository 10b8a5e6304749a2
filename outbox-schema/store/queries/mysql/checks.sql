-- name: encrypted
SHOW SESSION STATUS LIKE 'Ssl_cipher'

-- name: mistakes
-- What the newest messages show of mistakes: payloads encoded twice, times of another zone, times to come.
WITH newest AS (
    SELECT payload, available_at, created_at, attempts FROM outbox ORDER BY id DESC LIMIT 1000
), seen AS (
    SELECT JSON_TYPE(payload) = 'STRING' AND LEFT(TRIM(LEADING ' ' FROM JSON_UNQUOTE(payload)), 1) IN ('{', '[') AS encoded_twice,
           IF(attempts = 0, TIMESTAMPDIFF(SECOND, created_at, available_at), NULL) AS delay,
           created_at > UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE AS in_future
    FROM newest
)
SELECT COUNT(*) AS looked_at, COUNT(IF(encoded_twice, 1, NULL)) AS encoded_twice,
       COUNT(IF(delay < -60 OR delay BETWEEN 3540 AND 50460 AND (delay + 60) % 3600 <= 120, 1, NULL)) AS whole_hours,
       COUNT(IF(in_future, 1, NULL)) AS in_future
FROM seen

-- name: node
SHOW VARIABLES LIKE 'wsrep_node_name'

-- name: replication
-- What there is of these: each server has some.
SHOW VARIABLES WHERE Variable_name LIKE 'rpl\_semi\_sync\_%' OR Variable_name IN ('aurora_version', 'wsrep_on', 'wsrep_provider',
    'group_replication_group_name', 'group_replication_single_primary_mode', 'group_replication_consistency')

-- name: replication_status
SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_source_status', 'Rpl_semi_sync_master_status', 'wsrep_cluster_size')

-- name: rights
-- The columns of a table that the session may see, each with its rights to it, such as 'select,insert'.
SELECT CAST(column_name AS char(64)) AS name, CAST(privileges AS char(255)) AS privileges
FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?

-- name: server
-- Which product this is.
SELECT CAST(CONCAT(VERSION(), ' ', @@version_comment) AS char(255))
