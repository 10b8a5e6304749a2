-- Jobs that run once in a fleet: who may run one, the token that fences it, and its runs.

CREATE TABLE outbox_job (
    name            varchar(64) COLLATE "C" PRIMARY KEY,
    created_at      timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    -- The period in which the last run began (--per), and until when no other begins (--at-least, --every).
    period_from     timestamptz(3),
    held_until      timestamptz(3),
    -- A run should begin at least so often (--per, --every).
    due_within_ms   bigint,
    skips           bigint NOT NULL DEFAULT 0,
    -- Runs by how they ended, those that were removed among them.
    finished        bigint NOT NULL DEFAULT 0,
    failed          bigint NOT NULL DEFAULT 0,
    timed_out       bigint NOT NULL DEFAULT 0,
    lost            bigint NOT NULL DEFAULT 0,
    stopped         bigint NOT NULL DEFAULT 0,
    crashed         bigint NOT NULL DEFAULT 0,
    last_success_at timestamptz(3),
    paused_at       timestamptz(3),
    paused_by       varchar(255)
);

-- The newest token. It has a row of its own: a transaction of a job that asks for it keeps the row locked, and nothing else waits
-- for that but the next run.
CREATE TABLE outbox_job_token (
    name  varchar(64) COLLATE "C" PRIMARY KEY,
    token bigint NOT NULL
);

-- Who may run a job, where the lease is in a table or in a session.
CREATE TABLE outbox_job_seat (
    job        varchar(64) COLLATE "C" PRIMARY KEY,
    holder     varchar(255) NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE TABLE outbox_job_run (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          varchar(64) COLLATE "C" NOT NULL,
    token         bigint NOT NULL,
    holder        varchar(255) NOT NULL,
    host          varchar(255) NOT NULL,
    pid           bigint NOT NULL,
    -- The program, without its arguments: those may be secrets.
    command       varchar(255) NOT NULL,
    started_at    timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    -- When the run was last known to go on.
    seen_at       timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    ended_at      timestamptz(3),
    -- finished, failed, timed_out, lost, stopped or crashed.
    ended_because varchar(16),
    exit_code     integer,
    signal        integer,
    -- The last that it wrote, where that was asked for.
    tail          text,
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

-- Told where a job is late (alerts.on_job_late).
INSERT INTO outbox_alert (kind) VALUES ('job_late');

UPDATE outbox_meta SET schema_version = 21, serves_from = 2;
