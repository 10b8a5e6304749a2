-- Recurring messages: the times for which each was written, so that no time has two messages or none.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- cron, timezone: the pattern and the zone by which the poller last knew it. since: times up to this one are nobody's: it was new then,
-- was resumed, or got another pattern. fired_for, next_at: the last time for which a message was written, and the next one. asked_at:
-- when somebody asked for a message by hand that is not written yet.
CREATE TABLE IF NOT EXISTS outbox_recurring (
    name      varchar(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    cron      varchar(255) NOT NULL,
    timezone  varchar(64) NOT NULL,
    since     datetime(3) NOT NULL,
    fired_for datetime(3),
    next_at   datetime(3),
    asked_at  datetime(3),
    paused_at datetime(3),
    paused_by varchar(255)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE outbox_meta SET schema_version = 20, serves_from = 2;
