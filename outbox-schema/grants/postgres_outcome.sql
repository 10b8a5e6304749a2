-- The right to ask what became of a message on PostgreSQL, by its key. As the owner of the tables, after each `outbox migrate`:
--   psql -v schema=public -v application=shop -v ON_ERROR_STOP=1 -f postgres_outcome.sql DATABASE
-- where schema is the schema of the tables, and application is a role that exists. It is a right of its own: whoever has it learns of
-- any message whose key they know. It gives no right to a table, and shows neither payload, target nor error.

\if :{?schema}
\else
\set schema public
\endif

GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT EXECUTE ON FUNCTION :"schema".outbox_outcome TO :"application";
