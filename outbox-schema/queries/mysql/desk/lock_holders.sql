-- Transactions that have held locks on rows for 5 s, of whatever table: this asks for the right PROCESS.
SELECT 'rows' AS `lock`, CAST(t.trx_mysql_thread_id AS CHAR) AS session, CONCAT_WS(', ', p.USER, p.HOST, p.COMMAND) AS who
FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_rows_locked > 0 AND t.trx_mysql_thread_id NOT IN (0, CONNECTION_ID())
  AND TIMESTAMPDIFF(SECOND, CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP()) >= 5
ORDER BY t.trx_started LIMIT 9
