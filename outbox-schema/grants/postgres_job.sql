-- The right to fence a job's own transactions on PostgreSQL (outbox_job_fence). As the owner of the tables, after each
-- `outbox migrate`:
--   psql -v schema=public -v application=shop -v ON_ERROR_STOP=1 -f postgres_job.sql DATABASE
-- where schema is the schema of the tables, and application is the role by which the job writes. It gives no right to a table.
-- Whoever has it can keep the next run of a job waiting, for as long as a transaction of its own lasts.

\if :{?schema}
\else
\set schema public
\endif

GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT EXECUTE ON FUNCTION :"schema".outbox_job_fence TO :"application";
