-- Changes of many messages that people ordered: how far each is, so that another process can go on with it.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- id: the entry in outbox_audit. state: the order, and where it stands, as the program reads it. meant: how many messages it is about.
-- NULL where nobody has counted them. carrier: who carries it out, until carried_until at the latest; then the poller goes on with it.
CREATE TABLE IF NOT EXISTS outbox_operation (
    id            bigint NOT NULL PRIMARY KEY,
    action        varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    status        varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'open',
    state         longtext NOT NULL,
    meant         bigint,
    done          bigint NOT NULL DEFAULT 0,
    changed       bigint NOT NULL DEFAULT 0,
    began_at      datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    ended_at      datetime(6),
    carrier       varchar(64) CHARACTER SET ascii COLLATE ascii_bin,
    carried_until datetime(6),
    failure       text,
    CONSTRAINT outbox_operation_status CHECK (status IN ('open', 'done', 'stopped', 'failed')),
    KEY outbox_operation_open (status, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE outbox_meta SET schema_version = 10, serves_from = 2;
