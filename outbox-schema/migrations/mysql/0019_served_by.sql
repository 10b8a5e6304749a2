-- The server that minted the term, and its timeline: another one than before is a failover. NULL where the database has no such thing.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.
SET @outbox_served_by = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_term_log' AND column_name = 'served_by') > 0,
    'DO 0',
    'ALTER TABLE outbox_term_log ADD served_by varchar(255)');
PREPARE outbox_served_by FROM @outbox_served_by;
EXECUTE outbox_served_by;
DEALLOCATE PREPARE outbox_served_by;
SET @outbox_served_by = NULL;

UPDATE outbox_meta SET schema_version = 19, serves_from = 2;
