-- Jobs that run once in a fleet: who may run one, the token that fences it, and its runs. Times are in milliseconds since 1970.

CREATE TABLE outbox_job (
    name            TEXT PRIMARY KEY,
    created_at      INTEGER NOT NULL,
    -- The period in which the last run began (--per), and until when no other begins (--at-least, --every).
    period_from     INTEGER,
    held_until      INTEGER,
    -- A run should begin at least so often (--per, --every).
    due_within_ms   INTEGER,
    skips           INTEGER NOT NULL DEFAULT 0,
    -- Runs by how they ended, those that were removed among them.
    finished        INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    timed_out       INTEGER NOT NULL DEFAULT 0,
    lost            INTEGER NOT NULL DEFAULT 0,
    stopped         INTEGER NOT NULL DEFAULT 0,
    crashed         INTEGER NOT NULL DEFAULT 0,
    last_success_at INTEGER,
    paused_at       INTEGER,
    paused_by       TEXT
) WITHOUT ROWID;

-- The newest token.
CREATE TABLE outbox_job_token (
    name  TEXT PRIMARY KEY,
    token INTEGER NOT NULL
) WITHOUT ROWID;

-- Who may run a job.
CREATE TABLE outbox_job_seat (
    job        TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE outbox_job_run (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL,
    token         INTEGER NOT NULL,
    holder        TEXT NOT NULL,
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    -- The program, without its arguments: those may be secrets.
    command       TEXT NOT NULL,
    started_at    INTEGER NOT NULL,
    -- When the run was last known to go on.
    seen_at       INTEGER NOT NULL,
    ended_at      INTEGER,
    -- finished, failed, timed_out, lost, stopped or crashed.
    ended_because TEXT,
    exit_code     INTEGER,
    signal        INTEGER,
    -- The last that it wrote, where that was asked for.
    tail          TEXT,
    UNIQUE (name, token)
);
CREATE INDEX outbox_job_run_started ON outbox_job_run (started_at);

-- The last run of each job, as a row that says how it stands.
CREATE VIEW outbox_job_status AS
SELECT j.name,
       CASE WHEN r.id IS NULL THEN 'NEVER' WHEN r.ended_because IS NULL THEN 'RUNNING'
            WHEN r.ended_because = 'finished' THEN 'COMPLETED' ELSE 'FAILED' END AS status,
       r.token, r.host, r.started_at, r.ended_at, r.ended_because, r.exit_code, j.last_success_at, j.paused_at
FROM outbox_job j
LEFT JOIN outbox_job_token t ON t.name = j.name
LEFT JOIN outbox_job_run r ON r.name = j.name AND r.token = t.token;

-- For a job, in each transaction that only the newest run may commit: INSERT INTO outbox_job_fence (name, token) VALUES (?, ?). It
-- fails where a later run has begun. Whoever writes has locked the file, so none begins before that transaction ends.
CREATE VIEW outbox_job_fence AS SELECT name, token FROM outbox_job_token WHERE FALSE;
CREATE TRIGGER outbox_job_fenced INSTEAD OF INSERT ON outbox_job_fence
BEGIN
    SELECT RAISE(ABORT, 'outbox_job_fence: no run of a job of this name has begun')
    WHERE NOT EXISTS (SELECT 1 FROM outbox_job_token WHERE name = NEW.name AND token > 0);
    SELECT RAISE(ABORT, 'outbox_job_fence: a later run of this job has begun, so this one may write no more')
    WHERE (SELECT token FROM outbox_job_token WHERE name = NEW.name) IS NOT NEW.token;
END;

-- Told where a job is late (alerts.on_job_late).
INSERT INTO outbox_alert (kind) VALUES ('job_late');

UPDATE outbox_meta SET schema_version = 21, serves_from = 2;
