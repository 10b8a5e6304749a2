SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- A value that does not fit is an error, whatever the server's own mode.
SET SESSION innodb_lock_wait_timeout = 5, sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES');
-- Each server reads its own limit and takes the other's for a comment.
SET SESSION wait_timeout = 28800 /*M!100600 , SESSION max_statement_time = 15 */ /*!80000 , SESSION max_execution_time = 15000 */
