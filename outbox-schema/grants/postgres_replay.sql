-- The right of an operator to replay on PostgreSQL, `outbox messages replay`, beside those of postgres_operator.sql. As the owner of
-- the tables, after each `outbox migrate`:
--   psql -v schema=public -v operator=support -v ON_ERROR_STOP=1 -f postgres_replay.sql DATABASE
-- where schema is the schema of the tables, and operator is a role that exists. It is a right of its own: a replay is a new row, so
-- whoever has it can write any message.

\if :{?schema}
\else
\set schema public
\endif

GRANT INSERT (idempotency_key, channel, target, payload, headers, ordering_key, tenant, priority, shard, revision, max_attempts,
              available_at, traceparent, tracestate, replay_of, sent_key, tags)
    ON :"schema".outbox TO :"operator";
