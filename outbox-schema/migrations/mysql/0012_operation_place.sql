-- An operation writes its order once, and with each batch only where it stands.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- place: what the batches have changed of state. NULL before the first one.
SET @outbox_place = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox_operation' AND column_name = 'place') > 0,
    'DO 0',
    'ALTER TABLE outbox_operation ADD place longtext');
PREPARE outbox_place FROM @outbox_place;
EXECUTE outbox_place;
DEALLOCATE PREPARE outbox_place;
SET @outbox_place = NULL;

UPDATE outbox_meta SET schema_version = 12, serves_from = 2;
