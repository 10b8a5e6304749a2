-- The strict rights of an application on MySQL and MariaDB, in place of those of mysql.sql: it writes through the view outbox_new,
-- and has no right on the table, so it reads nothing and locks nothing. Replace
--   APPLICATION  by the account of the application, as 'shop'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, for example
--   sed "s/APPLICATION/'shop'@'%'/" mysql_strict.sql | mariadb shop
-- mysql_enqueue.sql goes with it.

/*M! GRANT SELECT, INSERT, SHOW VIEW ON outbox_new TO APPLICATION */;
/*!80000 GRANT SELECT, SHOW VIEW,
      INSERT (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent, tracestate,
              tenant, tags)
    ON outbox_new TO APPLICATION */;
