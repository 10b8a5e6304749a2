SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- A value that does not fit is an error, whatever the server's own mode; but a date that is no moment, such as
-- 0000-00-00, is taken as the application wrote it, or no statement could move the row. MariaDB and MySQL limit
-- statements each in its own way (and MySQL no statement that writes), and take the other's way for a comment. Whoever is
-- frozen within a transaction must not keep the next poller from its term: MariaDB ends the transaction, MySQL knows only
-- how to end a connection on which nothing was asked for so long. So begin.sql makes that time short, and commit.sql long. Since 11.6.2 MariaDB refuses by
-- itself (1020) to lock a row that has changed since the statement began; here whoever waited for a lock reads what is true then.
-- On MariaDB whoever writes a row can switch the checks of the table off for it. Here they are off as well: a row that no check has seen
-- could otherwise be neither deferred nor marked, and each claim that meets it would fail.
-- A server that cannot get rid of an answer, since the host of the replica is gone, keeps its locks no longer than a statement may.
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,PIPES_AS_CONCAT', SESSION innodb_lock_wait_timeout = 5,
    SESSION net_write_timeout = 15
    /*M!100600 , SESSION max_statement_time = 15, SESSION idle_transaction_timeout = 2, SESSION check_constraint_checks = 0 */
    /*M!110602 , SESSION innodb_snapshot_isolation = OFF */
    /*!80000 , SESSION max_execution_time = 15000, SESSION wait_timeout = 20 */
