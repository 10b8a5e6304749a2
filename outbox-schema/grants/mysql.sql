-- The least rights on MySQL and MariaDB, for the account that writes messages and the account of `outbox run`. Replace
--   APPLICATION  by the account of the application, as 'shop'@'%'
--   DISPATCHER   by the account of the dispatcher, as 'outbox'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, for example
--   sed "s/APPLICATION/'shop'@'%'/; s/DISPATCHER/'outbox'@'%'/" mysql.sql | mariadb shop
-- Neither account needs CREATE, ALTER or DROP: tables are made by whoever runs `outbox migrate`.

-- An application inserts what is its to say; the rest belongs to the dispatcher. Times are not among it: most libraries write them by
-- the clock of their zone, and a DATETIME keeps no zone. mysql_enqueue.sql grants the procedure that counts seconds, and
-- mysql_times.sql the right to write times, for those who write UTC. The two columns to read tell which message a duplicate repeats;
-- payloads stay unread. Whoever reads a column can also lock rows (FOR SHARE; FOR UPDATE on MariaDB), and claims pass over what is
-- locked: mysql_strict.sql is for an application that is not trusted with that.
GRANT INSERT (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent, tracestate,
              tenant, tags),
      SELECT (id, idempotency_key)
    ON outbox TO APPLICATION;
-- The view takes the same and shows nothing: for tools that read back what they wrote. MariaDB's INSERT ... RETURNING asks for
-- the right to insert what it returns, the id too; the view takes no id of the application's own.
/*M! GRANT SELECT, INSERT, SHOW VIEW ON outbox_new TO APPLICATION */;
/*!80000 GRANT SELECT, SHOW VIEW,
      INSERT (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent, tracestate,
              tenant, tags)
    ON outbox_new TO APPLICATION */;
GRANT SELECT ON outbox_meta TO APPLICATION;

-- The dispatcher claims, marks and settles, and removes what is past its retention; it enqueues for `outbox enqueue`. It
-- deletes no audit, and no target that is known to be gone.
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE ON outbox_term TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_term_log TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_destination TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE ON outbox_invalid_target TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE ON outbox_recurring TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_claim TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_lease TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_replica TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_minute TO DISPATCHER;
GRANT SELECT, UPDATE ON outbox_alert TO DISPATCHER;
-- `outbox exclusive` runs with these rights too.
GRANT SELECT, INSERT, UPDATE ON outbox_job TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE ON outbox_job_token TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE ON outbox_job_seat TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_job_run TO DISPATCHER;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_operation TO DISPATCHER;
GRANT SELECT, INSERT, DELETE ON outbox_attempt TO DISPATCHER;
GRANT SELECT, INSERT ON outbox_audit TO DISPATCHER;
GRANT SELECT ON outbox_meta TO DISPATCHER;
-- It is only locked: a lock asks for the right to change something.
GRANT SELECT, UPDATE ON outbox_cancelling TO DISPATCHER;
