-- The right to fence a job's own transactions on MySQL and MariaDB (outbox_job_fence). Replace
--   APPLICATION  by the account by which the job writes, as 'shop'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, for example
--   sed "s/APPLICATION/'shop'@'%'/" mysql_job.sql | mariadb shop
-- It gives no right to a table: the procedure acts with the rights of the account that ran `outbox migrate`, which must stay.
-- Whoever has it can keep the next run of a job waiting, for as long as a transaction of its own lasts.

GRANT EXECUTE ON PROCEDURE outbox_job_fence TO APPLICATION;
