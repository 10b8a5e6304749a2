-- What people were told: of a fleet one replica tells, and at most once in a window.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- kind: 'dead_rate' or 'no_poller'. told_at: when it was told last. is_open: whether it was told that it began, and not that it is
-- over. claimed_by: who tells it now. claimed_until: until when nobody else does. A replica that is killed meanwhile keeps
-- nobody waiting for longer.
CREATE TABLE IF NOT EXISTS outbox_alert (
    kind          varchar(16) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    told_at       datetime(6),
    is_open       smallint NOT NULL DEFAULT 0,
    claimed_by    varchar(64) CHARACTER SET ascii COLLATE ascii_bin,
    claimed_until datetime(6)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO outbox_alert (kind) VALUES ('dead_rate'), ('no_poller');

UPDATE outbox_meta SET schema_version = 9, serves_from = 2;
