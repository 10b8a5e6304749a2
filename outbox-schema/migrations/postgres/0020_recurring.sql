-- Recurring messages: the times for which each was written, so that no time has two messages or none.

CREATE TABLE outbox_recurring (
    name      varchar(64) COLLATE "C" PRIMARY KEY,
    -- The pattern and the zone by which the poller last knew it.
    cron      varchar(255) NOT NULL,
    timezone  varchar(64) NOT NULL,
    -- Times up to this one are nobody's: it was new then, was resumed, or got another pattern.
    since     timestamptz(3) NOT NULL,
    -- The last time for which a message was written, and the next one.
    fired_for timestamptz(3),
    next_at   timestamptz(3),
    -- When somebody asked for a message by hand that is not written yet.
    asked_at  timestamptz(3),
    paused_at timestamptz(3),
    paused_by varchar(255)
);

UPDATE outbox_meta SET schema_version = 20, serves_from = 2;
