-- The replicas that run, and what a rolling upgrade needs to know of programs and tables.

-- Programs made for this version and later ones run on these tables.
ALTER TABLE outbox_meta ADD serves_from INTEGER NOT NULL DEFAULT 2;
-- Of functions, which SQLite does not have.
ALTER TABLE outbox_meta ADD functions_version INTEGER NOT NULL DEFAULT 0;

-- A row of each replica, which writes it anew twice a minute.
CREATE TABLE outbox_replica (
    id             TEXT PRIMARY KEY,
    name           TEXT NOT NULL,
    version        TEXT NOT NULL,
    -- The tables that this version of the program was made for.
    schema_version INTEGER NOT NULL,
    started_at     INTEGER NOT NULL,
    seen_at        INTEGER NOT NULL
);

UPDATE outbox_meta SET schema_version = 3, serves_from = 2;
