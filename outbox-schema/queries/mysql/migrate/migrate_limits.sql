-- No limit of time: a migration may wait for another, and go through a large table.
SET SESSION innodb_lock_wait_timeout = 120
    /*M!100600 , SESSION max_statement_time = 0, SESSION idle_transaction_timeout = 0 */
    /*!80000 , SESSION max_execution_time = 0, SESSION wait_timeout = 28800 */
