-- name: confirm_environment
UPDATE outbox_meta SET environment = ?, outbox_id = ?

-- name: meta
SELECT schema_version, outbox_id, environment FROM outbox_meta

-- name: migrate_limits
-- No limit of time: a migration may wait for another, and go through a large table.
SET SESSION innodb_lock_wait_timeout = 120
    /*M!100600 , SESSION max_statement_time = 0, SESSION idle_transaction_timeout = 0 */
    /*!80000 , SESSION max_execution_time = 0, SESSION wait_timeout = 28800 */

-- name: migrate_lock
-- One migration of this database at a time; 1 once it is ours, 0 after two minutes. Released with the connection.
SELECT GET_LOCK(CONCAT('outbox.', LEFT(SHA2(DATABASE(), 256), 32)), 120)

-- name: serves
SELECT serves_from, functions_version FROM outbox_meta

-- name: tables
-- A view and a procedure of ours outlive tables that somebody dropped.
SELECT EXISTS (SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'outbox') AS outbox,
       EXISTS (SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'outbox_meta') AS meta,
       EXISTS (SELECT 1 FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name = 'outbox_new')
           OR EXISTS (SELECT 1 FROM information_schema.routines
                      WHERE routine_schema = DATABASE() AND routine_name = 'outbox_enqueue') AS remains,
       TRUE AS readable

-- name: who
-- The account as GRANT names it, and the database of the tables. Whatever follows the last @ is the host.
SELECT CONCAT(QUOTE(LEFT(who, CHAR_LENGTH(who) - CHAR_LENGTH(SUBSTRING_INDEX(who, '@', -1)) - 1)), '@',
              QUOTE(SUBSTRING_INDEX(who, '@', -1))) AS role,
       CONCAT('`', REPLACE(COALESCE(DATABASE(), ''), '`', '``'), '`') AS place
FROM (SELECT CURRENT_USER() AS who) AS account
