-- What was done in each minute, by channel: figures that need no other store, and survive a hand-over.

-- Whoever polls adds its counts to the row of the present minute. minutes: how long the row lasts, 1, or 60 once it is rolled up.
-- channel: one of the settings, or '(others)' for all that no settings have. failed: attempts that failed. dead: messages that became
-- dead letters. lag_ms: the most lag that was seen. NULL where nobody looked. ms_10 and so on: deliveries by their latency, each
-- of more than the bound before and of its own at most.
-- begins_at: in milliseconds since 1970.
CREATE TABLE outbox_minute (
    shard     INTEGER NOT NULL,
    begins_at INTEGER NOT NULL,
    minutes   INTEGER NOT NULL,
    channel   TEXT NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    dead      INTEGER NOT NULL DEFAULT 0,
    in_doubt  INTEGER NOT NULL DEFAULT 0,
    deferred  INTEGER NOT NULL DEFAULT 0,
    lag_ms    INTEGER,
    ms_10     INTEGER NOT NULL DEFAULT 0,
    ms_25     INTEGER NOT NULL DEFAULT 0,
    ms_50     INTEGER NOT NULL DEFAULT 0,
    ms_100    INTEGER NOT NULL DEFAULT 0,
    ms_250    INTEGER NOT NULL DEFAULT 0,
    ms_500    INTEGER NOT NULL DEFAULT 0,
    ms_1000   INTEGER NOT NULL DEFAULT 0,
    ms_2500   INTEGER NOT NULL DEFAULT 0,
    ms_5000   INTEGER NOT NULL DEFAULT 0,
    ms_10000  INTEGER NOT NULL DEFAULT 0,
    ms_60000  INTEGER NOT NULL DEFAULT 0,
    ms_600000 INTEGER NOT NULL DEFAULT 0,
    ms_3600000 INTEGER NOT NULL DEFAULT 0,
    ms_more   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (begins_at, minutes, shard, channel)
) WITHOUT ROWID;

UPDATE outbox_meta SET schema_version = 7, serves_from = 2;
