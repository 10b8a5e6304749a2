-- What was done in each minute, by channel: figures that need no other store, and survive a hand-over.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- Whoever polls adds its counts to the row of the present minute. minutes: how long the row lasts, 1, or 60 once it is rolled up.
-- channel: one of the settings, or '(others)' for all that no settings have. failed: attempts that failed. dead: messages that became
-- dead letters. lag_ms: the most lag that was seen. NULL where nobody looked. ms_10 and so on: deliveries by their latency, each
-- of more than the bound before and of its own at most.
CREATE TABLE IF NOT EXISTS outbox_minute (
    shard     smallint NOT NULL,
    begins_at datetime NOT NULL,
    minutes   smallint NOT NULL,
    channel   varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    delivered bigint NOT NULL DEFAULT 0,
    failed    bigint NOT NULL DEFAULT 0,
    dead      bigint NOT NULL DEFAULT 0,
    in_doubt  bigint NOT NULL DEFAULT 0,
    deferred  bigint NOT NULL DEFAULT 0,
    lag_ms    bigint,
    ms_10     bigint NOT NULL DEFAULT 0,
    ms_25     bigint NOT NULL DEFAULT 0,
    ms_50     bigint NOT NULL DEFAULT 0,
    ms_100    bigint NOT NULL DEFAULT 0,
    ms_250    bigint NOT NULL DEFAULT 0,
    ms_500    bigint NOT NULL DEFAULT 0,
    ms_1000   bigint NOT NULL DEFAULT 0,
    ms_2500   bigint NOT NULL DEFAULT 0,
    ms_5000   bigint NOT NULL DEFAULT 0,
    ms_10000  bigint NOT NULL DEFAULT 0,
    ms_60000  bigint NOT NULL DEFAULT 0,
    ms_600000 bigint NOT NULL DEFAULT 0,
    ms_3600000 bigint NOT NULL DEFAULT 0,
    ms_more   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (begins_at, minutes, shard, channel)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE outbox_meta SET schema_version = 7, serves_from = 2;
