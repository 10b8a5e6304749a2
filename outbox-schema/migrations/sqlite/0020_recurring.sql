-- Recurring messages: the times for which each was written, so that no time has two messages or none.

-- Times are in milliseconds since 1970.
CREATE TABLE outbox_recurring (
    name      TEXT PRIMARY KEY,
    -- The pattern and the zone by which the poller last knew it.
    cron      TEXT NOT NULL,
    timezone  TEXT NOT NULL,
    -- Times up to this one are nobody's: it was new then, was resumed, or got another pattern.
    since     INTEGER NOT NULL,
    -- The last time for which a message was written, and the next one.
    fired_for INTEGER,
    next_at   INTEGER,
    -- When somebody asked for a message by hand that is not written yet.
    asked_at  INTEGER,
    paused_at INTEGER,
    paused_by TEXT
) WITHOUT ROWID;

UPDATE outbox_meta SET schema_version = 20, serves_from = 2;
