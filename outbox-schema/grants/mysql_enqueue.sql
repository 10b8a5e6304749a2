-- The right to enqueue by the procedure outbox_enqueue on MySQL and MariaDB. Replace
--   APPLICATION  by the account of the application, as 'shop'@'%'
-- and run it in the database that holds the tables, after each `outbox migrate`, as whoever owns the tables, for example
--   sed "s/APPLICATION/'shop'@'%'/" mysql_enqueue.sql | mariadb shop
-- It gives no right to a table: the procedure acts with the rights of the account that ran `outbox migrate`, which must stay.

GRANT EXECUTE ON PROCEDURE outbox_enqueue TO APPLICATION;
