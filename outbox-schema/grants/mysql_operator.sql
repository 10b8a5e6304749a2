-- The least rights on MySQL and MariaDB for people who look at an outbox, and mend it by hand: `outbox status`, `outbox
-- messages`, `outbox dead-letters`, `outbox destinations`, `outbox invalid-targets`. Replace
--   OPERATOR  by their account, as 'support'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, for example
--   sed "s/OPERATOR/'support'@'%'/" mysql_operator.sql | mariadb shop
-- The account neither sends, claims nor marks; it can write no message of its own, and change no audit. mysql_replay.sql goes
-- with it for those who may.

GRANT SELECT ON outbox TO OPERATOR;
GRANT SELECT ON outbox_meta TO OPERATOR;
GRANT SELECT ON outbox_term TO OPERATOR;
GRANT SELECT ON outbox_term_log TO OPERATOR;
GRANT SELECT ON outbox_claim TO OPERATOR;
GRANT SELECT ON outbox_attempt TO OPERATOR;
GRANT SELECT ON outbox_destination TO OPERATOR;
GRANT SELECT ON outbox_invalid_target TO OPERATOR;
GRANT SELECT ON outbox_lease TO OPERATOR;
GRANT SELECT ON outbox_replica TO OPERATOR;
GRANT SELECT ON outbox_minute TO OPERATOR;
GRANT SELECT ON outbox_operation TO OPERATOR;
GRANT SELECT ON outbox_recurring TO OPERATOR;
GRANT SELECT ON outbox_job TO OPERATOR;
GRANT SELECT ON outbox_job_token TO OPERATOR;
GRANT SELECT ON outbox_job_seat TO OPERATOR;
GRANT SELECT ON outbox_job_run TO OPERATOR;
GRANT SELECT ON outbox_job_status TO OPERATOR;
-- Stopping what others ordered. The right to insert here is not among it: the poller would carry out whatever is ordered, by its own
-- rights. So a change that this account makes is carried out by whoever asked, and has no row.
GRANT UPDATE (status, ended_at, failure) ON outbox_operation TO OPERATOR;
-- Redriving, undoing, cancelling, retrying and editing; what names a message (id, channel, ordering key, shard) stays.
GRANT UPDATE (idempotency_key, sent_key, target, payload, headers, revision, status, dead_reason, attempts, error_hash,
              available_at, deferred_from, expires_at, first_attempt_at, finished_at) ON outbox TO OPERATOR;
-- Purging and pruning. Leave these two out for people who are not to.
GRANT DELETE ON outbox TO OPERATOR;
GRANT DELETE ON outbox_attempt TO OPERATOR;
GRANT SELECT, INSERT ON outbox_audit TO OPERATOR;
-- Pausing and resuming. (ON DUPLICATE KEY UPDATE asks for the right to update of each column that it inserts.)
GRANT INSERT, UPDATE (destination, paused_until, paused_by, pause_kind, reason, failures, aside_until,
                      by_hand_at) ON outbox_destination TO OPERATOR;
GRANT UPDATE (since, next_at, asked_at, paused_at, paused_by) ON outbox_recurring TO OPERATOR;
GRANT UPDATE (paused_at, paused_by) ON outbox_job TO OPERATOR;
GRANT UPDATE (expires_at) ON outbox_job_seat TO OPERATOR;
-- Forgetting targets that are known to be gone.
GRANT DELETE ON outbox_invalid_target TO OPERATOR;
-- Nothing updates it by this: a lock on the row of a term asks for the right to change some of it.
GRANT UPDATE (started_at) ON outbox_term TO OPERATOR;
