-- Has the lock where no session has it. The server ends this session where nothing is asked on it for so long.
-- $1 lock, $2 whether it is the lock of a transaction, $3 time to live with its unit
SELECT set_config(CASE WHEN $2 THEN 'idle_in_transaction_session_timeout' ELSE 'idle_session_timeout' END, $3, false),
       CASE WHEN $2 THEN pg_try_advisory_xact_lock(hashtextextended($1, 0))
            ELSE pg_try_advisory_lock(hashtextextended($1, 0)) END AS had
