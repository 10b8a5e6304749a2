-- The replicas that run, and what a rolling upgrade needs to know of programs and tables.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- serves_from: programs made for this version of the tables and later ones run on these. functions_version: of functions that
-- change without the tables, which there are on PostgreSQL.
SET @outbox_meta = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_meta' AND column_name = 'serves_from') > 0,
    'DO 0',
    'ALTER TABLE outbox_meta ADD serves_from integer NOT NULL DEFAULT 2, ADD functions_version integer NOT NULL DEFAULT 0');
PREPARE outbox_meta FROM @outbox_meta;
EXECUTE outbox_meta;
DEALLOCATE PREPARE outbox_meta;
SET @outbox_meta = NULL;

-- A row of each replica, which writes it anew twice a minute.
CREATE TABLE IF NOT EXISTS outbox_replica (
    id             varchar(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    name           varchar(255) NOT NULL,
    version        varchar(32) NOT NULL,
    -- The tables that this version of the program was made for.
    schema_version integer NOT NULL,
    started_at     datetime(6) NOT NULL,
    seen_at        datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

UPDATE outbox_meta SET schema_version = 3, serves_from = 2;
