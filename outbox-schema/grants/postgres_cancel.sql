-- The right to cancel messages on PostgreSQL, in the application's own transactions. As the owner of the tables, after each
-- `outbox migrate`:
--   psql -v schema=public -v application=shop -v ON_ERROR_STOP=1 -f postgres_cancel.sql DATABASE
-- where schema is the schema of the tables, and application is a role that exists. It is a right of its own, because
-- whoever has it can keep any message that waits from being sent. It gives no right to a table.

\if :{?schema}
\else
\set schema public
\endif

GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT EXECUTE ON FUNCTION :"schema".outbox_cancel TO :"application";
