-- Changes of many messages that people ordered: how far each is, so that another process can go on with it.

-- id: the entry in outbox_audit. state: the order, and where it stands, as the program reads it. meant: how many messages it is about.
-- NULL where nobody has counted them. carrier: who carries it out, until carried_until at the latest; then the poller goes on with it.
CREATE TABLE outbox_operation (
    id            bigint NOT NULL PRIMARY KEY,
    action        varchar(32) COLLATE "C" NOT NULL,
    status        varchar(16) COLLATE "C" NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done', 'stopped', 'failed')),
    state         text NOT NULL,
    meant         bigint,
    done          bigint NOT NULL DEFAULT 0,
    changed       bigint NOT NULL DEFAULT 0,
    began_at      timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    carrier       varchar(64) COLLATE "C",
    carried_until timestamptz,
    failure       text
);
CREATE INDEX outbox_operation_open ON outbox_operation (id) WHERE status = 'open';

UPDATE outbox_meta SET schema_version = 10, serves_from = 2;
