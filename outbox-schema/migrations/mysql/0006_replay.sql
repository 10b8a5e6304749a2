-- What was delivered can be sent again: by a row of its own, so that the first one stays as it was.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- replay_of: the id of the message that this one repeats. sent_key: the key that the receiver gets, where it is not the row's own:
-- that of the message repeated.
SET @outbox_replay = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND column_name = 'replay_of') > 0,
    'DO 0',
    'ALTER TABLE outbox
         ADD replay_of bigint,
         ADD sent_key varchar(255)');
PREPARE outbox_replay FROM @outbox_replay;
EXECUTE outbox_replay;
DEALLOCATE PREPARE outbox_replay;
SET @outbox_replay = NULL;

UPDATE outbox_meta SET schema_version = 6, serves_from = 2;
