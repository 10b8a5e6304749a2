-- Changes of many messages that people ordered: how far each is, so that another process can go on with it.

-- id: the entry in outbox_audit. state: the order, and where it stands, as the program reads it. meant: how many messages it is about.
-- NULL where nobody has counted them. carrier: who carries it out, until carried_until at the latest; then the poller goes on with it.
-- Times are in milliseconds since 1970.
CREATE TABLE outbox_operation (
    id            INTEGER NOT NULL PRIMARY KEY,
    action        TEXT NOT NULL,
    status        TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done', 'stopped', 'failed')),
    state         TEXT NOT NULL,
    meant         INTEGER,
    done          INTEGER NOT NULL DEFAULT 0,
    changed       INTEGER NOT NULL DEFAULT 0,
    began_at      INTEGER NOT NULL,
    ended_at      INTEGER,
    carrier       TEXT,
    carried_until INTEGER,
    failure       TEXT
);
CREATE INDEX outbox_operation_open ON outbox_operation (id) WHERE status = 'open';

UPDATE outbox_meta SET schema_version = 10, serves_from = 2;
