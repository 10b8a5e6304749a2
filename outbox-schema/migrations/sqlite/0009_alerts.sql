-- What people were told: of a fleet one replica tells, and at most once in a window.

CREATE TABLE outbox_alert (
    -- 'dead_rate' or 'no_poller'.
    kind          TEXT PRIMARY KEY,
    -- When it was told last, in milliseconds since 1970; so is claimed_until.
    told_at       INTEGER,
    -- Whether it was told that it began, and not that it is over.
    is_open       INTEGER NOT NULL DEFAULT 0,
    -- Who tells it now, and until when nobody else does: a replica that is killed meanwhile keeps nobody waiting for longer.
    claimed_by    TEXT,
    claimed_until INTEGER
) WITHOUT ROWID;
INSERT INTO outbox_alert (kind) VALUES ('dead_rate'), ('no_poller');

UPDATE outbox_meta SET schema_version = 9, serves_from = 2;
