-- The least rights on PostgreSQL, for the role that writes messages and the role of `outbox run`. As the owner of the
-- tables, after each `outbox migrate`:
--   psql -v schema=public -v application=shop -v dispatcher=outbox -v ON_ERROR_STOP=1 -f postgres.sql DATABASE
-- where schema is the schema of the tables (database.schema, else public, which it is without -v schema), and the other two are
-- roles that exist. Neither needs to own the tables: those are made by whoever runs `outbox migrate`.

\if :{?schema}
\else
\set schema public
\endif

-- An application inserts what is its to say; the rest belongs to the dispatcher. What it may read has a default or is no content:
-- tools that read back what they wrote (RETURNING) ask for it, and payloads, targets and errors stay unread. A tool that
-- asks for all columns is pointed at the view outbox_new, which takes the same and shows nothing.
GRANT USAGE ON SCHEMA :"schema" TO :"application";
GRANT INSERT (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, available_at, expires_at,
              traceparent, tracestate, created_at, tenant, tags),
      SELECT (id, idempotency_key, channel, destination, tenant, payload_bytes, ordering_key, priority, shard, revision, status,
              dead_reason, attempts, max_attempts, available_at, deferred_from, expires_at, first_attempt_at,
              last_status_code, error_hash, created_at, finished_at, dead_at, fingerprint)
    ON :"schema".outbox TO :"application";
GRANT SELECT, INSERT ON :"schema".outbox_new TO :"application";
GRANT SELECT ON :"schema".outbox_meta TO :"application";
-- For lastval(), as PDO's lastInsertId().
GRANT USAGE ON SEQUENCE :"schema".outbox_id_seq TO :"application";
-- For databases where PUBLIC may not execute new functions: what the columns' defaults call.
GRANT EXECUTE ON FUNCTION :"schema".outbox_new_key, :"schema".outbox_destination_of, :"schema".outbox_dead_at,
    :"schema".outbox_fingerprint_of TO :"application";
-- Where the schema is not in the application's search_path:
--   ALTER ROLE shop SET search_path = "$user", public, dispatcher;

-- The dispatcher claims, marks and settles, and removes what is past its retention; it enqueues for `outbox enqueue`. It
-- deletes no audit, and no target that is known to be gone.
GRANT USAGE ON SCHEMA :"schema" TO :"dispatcher";
GRANT SELECT, INSERT, UPDATE ON :"schema".outbox_term, :"schema".outbox_invalid_target, :"schema".outbox_recurring
    TO :"dispatcher";
GRANT SELECT, UPDATE ON :"schema".outbox_alert TO :"dispatcher";
-- `outbox exclusive` runs with these rights too.
GRANT SELECT, INSERT, UPDATE ON :"schema".outbox_job, :"schema".outbox_job_token, :"schema".outbox_job_seat TO :"dispatcher";
GRANT SELECT, INSERT, UPDATE, DELETE ON :"schema".outbox_job_run TO :"dispatcher";
GRANT SELECT, INSERT, UPDATE, DELETE ON
    :"schema".outbox, :"schema".outbox_term_log, :"schema".outbox_claim, :"schema".outbox_lease, :"schema".outbox_replica,
    :"schema".outbox_minute, :"schema".outbox_operation, :"schema".outbox_destination
    TO :"dispatcher";
GRANT SELECT, INSERT, DELETE ON :"schema".outbox_attempt TO :"dispatcher";
GRANT SELECT, INSERT ON :"schema".outbox_audit TO :"dispatcher";
GRANT SELECT ON :"schema".outbox_meta TO :"dispatcher";
GRANT EXECUTE ON FUNCTION
    :"schema".outbox_new_key, :"schema".outbox_destination_of, :"schema".outbox_dead_at, :"schema".outbox_fingerprint_of,
    :"schema".outbox_begin_term, :"schema".outbox_require_term, :"schema".outbox_cancelling, :"schema".outbox_fresh_plans,
    :"schema".outbox_claim_rows, :"schema".outbox_look_and_claim, :"schema".outbox_defer_unknown,
    :"schema".outbox_mark, :"schema".outbox_mark_free, :"schema".outbox_mark_delivered, :"schema".outbox_settle
    TO :"dispatcher";
