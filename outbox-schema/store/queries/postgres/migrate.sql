-- name: confirm_environment
UPDATE outbox_meta SET environment = $1, outbox_id = $2::uuid

-- name: encoding
SHOW server_encoding

-- name: index_build
-- How far the server is with an index on the outbox. Its own name is not seen here before the migration commits.
SELECT p.phase, p.blocks_done, p.blocks_total, p.tuples_done, p.tuples_total
FROM pg_stat_progress_create_index p
WHERE p.datname = current_database() AND p.relid = to_regclass('outbox')

-- name: meta
SELECT schema_version, outbox_id::text AS outbox_id, environment FROM outbox_meta

-- name: migrate_begin
-- One migration at a time: the others wait here, then find the work done. Released with the transaction.
SET LOCAL lock_timeout = '2min';
SET LOCAL statement_timeout = '10min';
SELECT pg_advisory_xact_lock(hashtextextended('outbox migrate', 0));
-- Our connections' search_path is database.schema alone, quoted as an identifier, where that is set.
DO $$
BEGIN
    IF current_schema() IS NULL AND current_setting('search_path') !~ '[,$]' THEN
        EXECUTE 'CREATE SCHEMA IF NOT EXISTS ' || current_setting('search_path');
    END IF;
END
$$;

-- name: serves
SELECT serves_from, functions_version FROM outbox_meta

-- name: tables
-- A function of ours outlives tables that somebody dropped.
SELECT to_regclass('outbox') IS NOT NULL AS outbox, to_regclass('outbox_meta') IS NOT NULL AS meta,
       to_regproc('outbox_new_key') IS NOT NULL AS remains,
       coalesce(has_table_privilege(to_regclass('outbox_meta'), 'SELECT'), true) AS readable

-- name: who
-- The role as GRANT names it, and the schema of the tables.
SELECT quote_ident(current_user)::text AS role,
       coalesce((SELECT quote_ident(n.nspname)::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.oid = to_regclass('outbox_meta')), quote_ident(current_schema)::text, 'public') AS place
