-- Sessions of others that have locked these messages. A row names who locked it last: a transaction, of which its session holds the
-- lock. (Where several share a row it names none of them.) A transaction that is over has no such lock any more.
SELECT 'rows' AS lock, l.pid::text AS session,
  concat_ws(', ', a.usename, nullif(a.application_name, ''), a.state,
            'since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))::text AS who
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'transactionid' AND l.granted AND l.pid <> pg_backend_pid()
  AND NOT (a.usename = current_user AND a.application_name = 'outbox')
  AND l.transactionid IN (SELECT o.xmax FROM outbox o WHERE o.id = ANY ($1::text::bigint[]))
ORDER BY l.pid LIMIT 9
