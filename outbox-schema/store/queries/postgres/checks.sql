-- name: encrypted
SELECT 'cipher'::text, coalesce(cipher, '')::text FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()

-- name: mistakes
-- What the newest messages show of mistakes: payloads encoded twice, times of another zone, times to come.
WITH newest AS (
    SELECT payload, available_at, created_at, attempts FROM outbox ORDER BY id DESC LIMIT 1000
), seen AS (
    SELECT jsonb_typeof(payload) = 'string' AND left(ltrim(payload #>> '{}', E' \t\r\n'), 1) IN ('{', '[') AS encoded_twice,
           CASE WHEN attempts = 0 AND isfinite(available_at) AND isfinite(created_at)
                THEN extract(epoch FROM available_at - created_at)::bigint END AS delay,
           created_at > now() + interval '1 minute' AS in_future
    FROM newest
)
SELECT count(*) AS looked_at, count(*) FILTER (WHERE encoded_twice) AS encoded_twice,
       count(*) FILTER (WHERE delay < -60 OR delay BETWEEN 3540 AND 50460 AND (delay + 60) % 3600 <= 120) AS whole_hours,
       count(*) FILTER (WHERE in_future) AS in_future
FROM seen

-- name: replication
-- Where commits wait, as the role has it by itself; what its session was told since does not count.
SELECT current_setting('synchronous_standby_names') AS standbys, to_regproc('aurora_version') IS NOT NULL AS shares_storage,
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS commits

-- name: rights
-- Which of the rights in the lists the role lacks, by their place: kinds, names, privileges, and columns, where a right is to one. What
-- is not there is no matter of rights.
SELECT wanted.place
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS wanted (kind, object, privilege, col, place)
CROSS JOIN (SELECT relnamespace AS schema FROM pg_class WHERE oid = to_regclass('outbox_meta')) AS ours
WHERE NOT coalesce(CASE wanted.kind
    WHEN 'schema' THEN has_schema_privilege(ours.schema, wanted.privilege)
    WHEN 'table' THEN (
        SELECT CASE wanted.col
            WHEN '' THEN has_table_privilege(t.oid, wanted.privilege)
            ELSE has_column_privilege(
                t.oid, (SELECT attnum FROM pg_attribute WHERE attrelid = t.oid AND attname = wanted.col), wanted.privilege)
        END FROM pg_class t WHERE t.relnamespace = ours.schema AND t.relname = wanted.object)
    ELSE (SELECT bool_and(has_function_privilege(oid, wanted.privilege))
          FROM pg_proc WHERE pronamespace = ours.schema AND proname = wanted.object)
END, TRUE)
ORDER BY wanted.place

-- name: server
-- Which product this is, whether it took what a connection asked for as it began, and whether the session was another's before.
SELECT pg_catalog.version() AS version, pg_catalog.current_setting('outbox.lent', true) = 'yes' AS lent,
       pg_catalog.current_setting('default_transaction_isolation') AS default_transaction_isolation,
       pg_catalog.current_setting('search_path') AS search_path, pg_catalog.current_setting('statement_timeout') AS statement_timeout,
       pg_catalog.current_setting('lock_timeout') AS lock_timeout,
       pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle_in_transaction_session_timeout,
       EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = 'sys' AND c.relname = 'iam_pg_role_mappings') AS dsql,
       to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS citus

-- name: server_asked
-- A pooler that lends this session to somebody else, as it is, has that one see it.
SET outbox.lent = 'yes'

-- name: server_citus
-- The tables of the outbox that lie on other nodes than the coordinator: with a method, as copies, or in a group of tables.
SELECT c.relname::text FROM pg_catalog.pg_dist_partition p JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
WHERE (p.partmethod <> 'n' OR p.repmodel = 't' OR p.colocationid <> 0)
  AND c.oid IN (SELECT to_regclass(name) FROM unnest(ARRAY['outbox', 'outbox_alert', 'outbox_attempt', 'outbox_audit', 'outbox_claim',
      'outbox_destination', 'outbox_invalid_target', 'outbox_lease', 'outbox_meta', 'outbox_minute', 'outbox_operation',
      'outbox_recurring', 'outbox_replica', 'outbox_term', 'outbox_term_log']) AS name)
ORDER BY 1

-- name: server_version
-- Where not all of that may be asked.
SELECT pg_catalog.version() AS version, NULL::boolean AS lent, NULL::text AS default_transaction_isolation, NULL::text AS search_path,
       NULL::text AS statement_timeout, NULL::text AS lock_timeout, NULL::text AS idle_in_transaction_session_timeout,
       false AS dsql, false AS citus

-- name: server_yugabyte
SELECT yb_get_effective_transaction_isolation_level()
