-- How many messages of each term were left in doubt, beside what else it did.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- NULL in terms of earlier releases. A term counts what its own sends left in doubt, and a later one adds what it settles.
SET @outbox_in_doubt = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_term_log' AND column_name = 'in_doubt') > 0,
    'DO 0',
    'ALTER TABLE outbox_term_log ADD in_doubt bigint');
PREPARE outbox_in_doubt FROM @outbox_in_doubt;
EXECUTE outbox_in_doubt;
DEALLOCATE PREPARE outbox_in_doubt;
SET @outbox_in_doubt = NULL;

UPDATE outbox_meta SET schema_version = 15, serves_from = 2;
