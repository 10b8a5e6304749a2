-- The least rights on PostgreSQL for people who look at an outbox, and mend it by hand: `outbox status`, `outbox messages`,
-- `outbox dead-letters`, `outbox destinations`, `outbox invalid-targets`. As the owner of the tables, after each `outbox migrate`:
--   psql -v schema=public -v operator=support -v ON_ERROR_STOP=1 -f postgres_operator.sql DATABASE
-- where schema is the schema of the tables, and operator is a role that exists. It neither sends, claims nor marks; it can
-- write no message of its own, and change no audit. postgres_replay.sql goes with it for those who may.

\if :{?schema}
\else
\set schema public
\endif

GRANT USAGE ON SCHEMA :"schema" TO :"operator";
GRANT SELECT ON
    :"schema".outbox, :"schema".outbox_meta, :"schema".outbox_term, :"schema".outbox_term_log, :"schema".outbox_claim,
    :"schema".outbox_attempt, :"schema".outbox_destination, :"schema".outbox_invalid_target, :"schema".outbox_audit,
    :"schema".outbox_lease, :"schema".outbox_replica, :"schema".outbox_minute, :"schema".outbox_operation,
    :"schema".outbox_recurring, :"schema".outbox_job, :"schema".outbox_job_token, :"schema".outbox_job_seat,
    :"schema".outbox_job_run, :"schema".outbox_job_status
    TO :"operator";
-- Stopping what others ordered. The right to insert here is not among it: the poller would carry out whatever is ordered, by its own
-- rights. So a change that this role makes is carried out by whoever asked, and has no row.
GRANT UPDATE (status, ended_at, failure) ON :"schema".outbox_operation TO :"operator";
-- Redriving, undoing, cancelling, retrying and editing; what names a message (id, channel, ordering key, shard) stays.
GRANT UPDATE (idempotency_key, sent_key, target, payload, headers, revision, status, dead_reason, attempts, error_hash,
              available_at, deferred_from, expires_at, first_attempt_at, finished_at)
    ON :"schema".outbox TO :"operator";
-- Purging and pruning. Leave these two out for people who are not to.
GRANT DELETE ON :"schema".outbox, :"schema".outbox_attempt TO :"operator";
GRANT INSERT ON :"schema".outbox_audit TO :"operator";
-- Pausing and resuming.
GRANT INSERT, UPDATE (paused_until, paused_by, pause_kind, reason, failures, aside_until, by_hand_at)
    ON :"schema".outbox_destination TO :"operator";
GRANT UPDATE (since, next_at, asked_at, paused_at, paused_by) ON :"schema".outbox_recurring TO :"operator";
GRANT UPDATE (paused_at, paused_by) ON :"schema".outbox_job TO :"operator";
GRANT UPDATE (expires_at) ON :"schema".outbox_job_seat TO :"operator";
-- Forgetting targets that are known to be gone.
GRANT DELETE ON :"schema".outbox_invalid_target TO :"operator";
-- Nothing updates it by this: a lock on the row of a term asks for the right to change some of it.
GRANT UPDATE (started_at) ON :"schema".outbox_term TO :"operator";
-- For databases where PUBLIC may not execute new functions: the destination follows the target.
GRANT EXECUTE ON FUNCTION :"schema".outbox_destination_of, :"schema".outbox_dead_at, :"schema".outbox_fingerprint_of
    TO :"operator";
