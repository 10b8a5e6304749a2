-- Sessions of others that have held an advisory lock of the outbox for 5 s, as far as this role may see since when. A poller's own
-- sessions hold one of them while it sleeps.
SELECT known.lock::text AS lock, a.pid::text AS session, concat_ws(', ', a.usename, nullif(a.application_name, ''))::text AS who
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
JOIN (VALUES ('claims', 'outbox'::regclass::oid::bigint << 16), ('hints', -('outbox'::regclass::oid::bigint << 16))) known(lock, key)
  ON known.key = (l.classid::bigint << 32 | l.objid::bigint)
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  AND l.pid <> pg_backend_pid() AND NOT (a.usename = current_user AND a.application_name = 'outbox')
  AND coalesce(a.state_change < clock_timestamp() - interval '5 s', true)
ORDER BY 1, l.pid LIMIT 9
