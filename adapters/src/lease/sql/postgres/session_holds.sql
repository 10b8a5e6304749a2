-- Whether this session has the lock. If so, it lives for so long from now.
-- $1 lock, $2 whether it is the lock of a transaction, $3 time to live with its unit
SELECT set_config(CASE WHEN $2 THEN 'idle_in_transaction_session_timeout' ELSE 'idle_session_timeout' END, $3, false),
       EXISTS (SELECT FROM pg_locks
               WHERE locktype = 'advisory' AND objsubid = 1 AND pid = pg_backend_pid()
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                 AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)) AS had
