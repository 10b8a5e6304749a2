-- The right to enqueue by the function outbox_enqueue on PostgreSQL. As the owner of the tables, after each `outbox migrate`:
--   psql -v schema=public -v application=shop -v ON_ERROR_STOP=1 -f postgres_enqueue.sql DATABASE
-- where schema is the schema of the tables (public without -v schema), and application is a role that exists. It gives no right
-- to a table: the function acts with the rights of the tables' owner.

\if :{?schema}
\else
\set schema public
\endif

GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT EXECUTE ON FUNCTION
    :"schema".outbox_enqueue(varchar, text, jsonb, varchar, jsonb, varchar, integer, double precision, double precision, integer,
                             varchar, varchar, varchar, jsonb),
    :"schema".outbox_enqueue(varchar, text, text, varchar, jsonb, varchar, integer, double precision, double precision, integer,
                             varchar, varchar, varchar, jsonb)
    TO :"application";
