SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- A value that does not fit is an error, whatever the server's own mode. MariaDB and MySQL limit statements each in
-- its own way (and MySQL no statement that writes), and take the other's way for a comment.
SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), SESSION innodb_lock_wait_timeout = 5
    /*M!100600 , SESSION max_statement_time = 15 */ /*!80000 , SESSION max_execution_time = 15000 */
