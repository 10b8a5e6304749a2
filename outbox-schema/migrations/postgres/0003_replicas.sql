-- The replicas that run, and what a rolling upgrade needs to know of programs and tables.

ALTER TABLE outbox_meta
    -- Programs made for this version and later ones run on these tables.
    ADD serves_from integer NOT NULL DEFAULT 2,
    -- Of PostgreSQL's functions, which change without the tables.
    ADD functions_version integer NOT NULL DEFAULT 0;

-- A row of each replica, which writes it anew twice a minute.
CREATE TABLE outbox_replica (
    id             varchar(64) COLLATE "C" PRIMARY KEY,
    name           varchar(255) NOT NULL,
    version        varchar(32) NOT NULL,
    -- The tables that this version of the program was made for.
    schema_version integer NOT NULL,
    started_at     timestamptz NOT NULL DEFAULT now(),
    seen_at        timestamptz NOT NULL DEFAULT now()
);

UPDATE outbox_meta SET schema_version = 3, serves_from = 2;
