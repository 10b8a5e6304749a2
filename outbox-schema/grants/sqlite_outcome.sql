-- What became of messages on SQLite: a view, which shows neither payload, target nor error. SQLite has no rights; whoever opens the file
-- can read all of it. Run it after `outbox migrate`:
--   sqlite3 outbox.db < sqlite_outcome.sql
-- Times are milliseconds since 1970.

DROP VIEW IF EXISTS outbox_outcome;
CREATE VIEW outbox_outcome AS
SELECT idempotency_key, id, status, dead_reason AS reason, last_status_code AS status_code, fingerprint, attempts,
       CASE WHEN status = 'PENDING' THEN available_at END AS due_at, finished_at AS ended_at
FROM outbox;
