-- The right to write times on MySQL and MariaDB, beside the rights of mysql.sql: for applications that write them in UTC, as the Rust
-- library does and SQL does with UTC_TIMESTAMP(6) + INTERVAL 10 MINUTE. Replace
--   APPLICATION  by the account of the application, as 'shop'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, for example
--   sed "s/APPLICATION/'shop'@'%'/" mysql_times.sql | mariadb shop
-- A library that writes the time of its own zone delays its messages by hours, and nothing tells at the insert.

GRANT INSERT (available_at, expires_at) ON outbox TO APPLICATION;
