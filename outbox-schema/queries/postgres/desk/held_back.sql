-- Who keeps dead rows of this database from being removed by a vacuum, of all the one who has for longest: a session, a
-- prepared transaction or a replication slot. One row, also where nobody does. A role without pg_read_all_stats sees of the
-- sessions of others neither state nor times.
SELECT pg_has_role('pg_read_all_stats', 'USAGE')::integer::bigint AS sees_all,
       coalesce((SELECT n_dead_tup FROM pg_catalog.pg_stat_user_tables WHERE relid = 'outbox'::regclass), 0) AS dead_rows,
       kind, name, who, since, age_ms, transactions
FROM (SELECT) one LEFT JOIN LATERAL (
    SELECT 'session' AS kind, pid::text AS name,
           concat_ws(', ', nullif(application_name, ''), usename, state)::text AS who, coalesce(to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(xact_start) #>> '{}') AS since,
           (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS age_ms,
           age(coalesce(backend_xmin, backend_xid))::bigint AS transactions
    FROM pg_catalog.pg_stat_activity
    WHERE coalesce(backend_xmin, backend_xid) IS NOT NULL AND pid <> pg_backend_pid()
      AND (datname = current_database() OR datname IS NULL) AND backend_type IS DISTINCT FROM 'autovacuum worker'
    UNION ALL
    SELECT 'prepared', gid, owner::text, coalesce(to_char(prepared AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(prepared) #>> '{}'),
           (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint, age(transaction)::bigint
    FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'slot', slot_name::text, slot_type, NULL, NULL, age(xmin)::bigint
    FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL
    ORDER BY transactions DESC, age_ms DESC NULLS LAST LIMIT 1
) holder ON true
