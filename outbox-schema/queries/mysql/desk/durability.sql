SELECT 'innodb_flush_log_at_trx_commit' AS name, CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS CHAR) AS setting
UNION ALL
-- Without a binary log there is none to sync.
SELECT 'sync_binlog', CAST(IF(@@GLOBAL.log_bin, @@GLOBAL.sync_binlog, 1) AS CHAR)
