-- Who keeps old versions of rows from being purged, of all the one who has for longest, and of how many transactions there
-- are: a transaction of REPEATABLE READ keeps all since its beginning. One row, also where nobody does. This asks for the
-- right PROCESS; the times are those of the server's system.
SELECT 1 AS sees_all, history.length AS dead_rows, holder.*
FROM (SELECT CAST(m.COUNT AS SIGNED) AS length FROM information_schema.INNODB_METRICS m
      WHERE m.NAME = 'trx_rseg_history_len') history
LEFT JOIN (
    SELECT 'session' AS kind, CAST(t.trx_mysql_thread_id AS CHAR) AS name,
           CONCAT_WS(', ', p.USER, p.HOST, p.COMMAND) AS who,
           DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%sZ') AS since,
           TIMESTAMPDIFF(MICROSECOND, CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP(6)) DIV 1000 AS age_ms,
           CAST(NULL AS SIGNED) AS transactions
    FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
    WHERE t.trx_isolation_level IN ('REPEATABLE READ', 'SERIALIZABLE') AND t.trx_mysql_thread_id <> CONNECTION_ID()
    ORDER BY t.trx_started LIMIT 1
) holder ON TRUE
