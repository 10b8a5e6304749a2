-- The strict rights of an application on PostgreSQL, in place of those of postgres.sql: it writes through the view outbox_new,
-- and has no right on the table, so it reads nothing, not even keys. As the owner of the tables, after each `outbox migrate`:
--   psql -v schema=public -v application=shop -v ON_ERROR_STOP=1 -f postgres_strict.sql DATABASE
-- where schema is the schema of the tables (public without -v schema), and application is a role that exists. ON CONFLICT DO
-- NOTHING works through the view; COPY and ON CONFLICT DO UPDATE do not. postgres_enqueue.sql goes with it.

\if :{?schema}
\else
\set schema public
\endif

GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT SELECT, INSERT ON :"schema".outbox_new TO :"application";
-- For databases where PUBLIC may not execute new functions: what the columns' defaults call.
GRANT EXECUTE ON FUNCTION :"schema".outbox_new_key, :"schema".outbox_destination_of, :"schema".outbox_dead_at,
    :"schema".outbox_fingerprint_of TO :"application";
