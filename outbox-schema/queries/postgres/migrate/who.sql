-- The role as GRANT names it, and the schema of the tables.
SELECT quote_ident(current_user)::text AS role,
       coalesce((SELECT quote_ident(n.nspname)::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.oid = to_regclass('outbox_meta')), quote_ident(current_schema)::text, 'public') AS place
