-- How long the next attempt of a message waits for an answer, once an attempt has timed out. NULL: as long as its channel says.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.
SET @outbox_deadlines = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND column_name = 'deadline_ms') > 0,
    'DO 0',
    'ALTER TABLE outbox ADD deadline_ms integer');
PREPARE outbox_deadlines FROM @outbox_deadlines;
EXECUTE outbox_deadlines;
DEALLOCATE PREPARE outbox_deadlines;
SET @outbox_deadlines = NULL;

UPDATE outbox_meta SET schema_version = 18, serves_from = 2;
