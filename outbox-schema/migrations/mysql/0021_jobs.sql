-- Jobs that run once in a fleet: who may run one, the token that fences it, and its runs.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- period_from, held_until: the period in which the last run began (--per), and until when no other begins (--at-least, --every).
-- due_within_ms: a run should begin at least so often (--per, --every). finished to crashed: runs by how they ended, those that were
-- removed among them.
CREATE TABLE IF NOT EXISTS outbox_job (
    name            varchar(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    created_at      datetime(3) NOT NULL,
    period_from     datetime(3),
    held_until      datetime(3),
    due_within_ms   bigint,
    skips           bigint NOT NULL DEFAULT 0,
    finished        bigint NOT NULL DEFAULT 0,
    failed          bigint NOT NULL DEFAULT 0,
    timed_out       bigint NOT NULL DEFAULT 0,
    lost            bigint NOT NULL DEFAULT 0,
    stopped         bigint NOT NULL DEFAULT 0,
    crashed         bigint NOT NULL DEFAULT 0,
    last_success_at datetime(3),
    paused_at       datetime(3),
    paused_by       varchar(255)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The newest token. It has a row of its own: a transaction of a job that asks for it keeps the row locked, and nothing else waits
-- for that but the next run.
CREATE TABLE IF NOT EXISTS outbox_job_token (
    name  varchar(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    token bigint NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who may run a job, where the lease is in a table or in a session.
CREATE TABLE IF NOT EXISTS outbox_job_seat (
    job        varchar(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    holder     varchar(255) NOT NULL,
    expires_at datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- command: the program, without its arguments: those may be secrets. seen_at: when the run was last known to go on.
-- ended_because: finished, failed, timed_out, lost, stopped or crashed. tail: the last that it wrote, where that was asked for.
CREATE TABLE IF NOT EXISTS outbox_job_run (
    id            bigint AUTO_INCREMENT PRIMARY KEY,
    name          varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token         bigint NOT NULL,
    holder        varchar(255) NOT NULL,
    host          varchar(255) NOT NULL,
    pid           bigint NOT NULL,
    command       varchar(255) NOT NULL,
    started_at    datetime(3) NOT NULL,
    seen_at       datetime(3) NOT NULL,
    ended_at      datetime(3),
    ended_because varchar(16),
    exit_code     integer,
    `signal`      integer,
    tail          text,
    UNIQUE KEY outbox_job_run_token (name, token),
    KEY outbox_job_run_started (started_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The last run of each job, as a row that says how it stands.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW outbox_job_status AS
SELECT j.name,
       CASE WHEN r.id IS NULL THEN 'NEVER' WHEN r.ended_because IS NULL THEN 'RUNNING'
            WHEN r.ended_because = 'finished' THEN 'COMPLETED' ELSE 'FAILED' END AS status,
       r.token, r.host, r.started_at, r.ended_at, r.ended_because, r.exit_code, j.last_success_at, j.paused_at
FROM outbox_job j
LEFT JOIN outbox_job_token t ON t.name = j.name
LEFT JOIN outbox_job_run r ON r.name = j.name AND r.token = t.token;

DROP PROCEDURE IF EXISTS outbox_job_fence;
DELIMITER //
-- For a job, in each transaction that only the newest run may commit. It keeps the token from changing until that transaction ends,
-- so a run that another has overtaken cannot commit. It acts with the rights of whoever made it.
CREATE PROCEDURE outbox_job_fence(IN p_name varchar(64) CHARACTER SET ascii, IN p_token bigint)
READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE newest bigint;
    BEGIN
        DECLARE EXIT HANDLER FOR 1305 SIGNAL SQLSTATE '45000'
            SET MESSAGE_TEXT = 'outbox_job_fence: call it in a transaction (BEGIN, or autocommit off): it guards nothing without one';
        -- Without a transaction a savepoint is gone as soon as it is made.
        SAVEPOINT outbox_job_fence;
        RELEASE SAVEPOINT outbox_job_fence;
    END;
    SET newest = (SELECT t.token FROM outbox_job_token t WHERE t.name = p_name LOCK IN SHARE MODE);
    IF newest IS NULL OR newest = 0 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'outbox_job_fence: no run of a job of this name has begun';
    ELSEIF newest <> COALESCE(p_token, 0) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'outbox_job_fence: a later run of this job has begun, so this one may write no more';
    END IF;
END//
DELIMITER ;

-- Told where a job is late (alerts.on_job_late).
INSERT IGNORE INTO outbox_alert (kind) VALUES ('job_late');

UPDATE outbox_meta SET schema_version = 21, serves_from = 2;
