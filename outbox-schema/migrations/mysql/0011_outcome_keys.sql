-- The keys of outcomes belong to the poller.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- As in 0002: rows of before that would be refused get a revision. MySQL looks at finished rows too.
UPDATE outbox SET revision = revision + 1
WHERE revision = 0 AND (status = 'PENDING' /*!80000 OR TRUE */)
  AND idempotency_key LIKE 'outcome:________-____-____-____-____________:%';

-- The key of an outcome can be foreseen, and the mark that tells of it adds nothing where the key is there. An application may write
-- no revision, and the poller writes its outcomes with one.
-- MariaDB reads the whole table where it is to check the rows that are there.
SET @outbox_keys = NULL /*M! , SESSION check_constraint_checks = 0 */;
SET @outbox_keys = IF(
    (SELECT COUNT(*) FROM information_schema.table_constraints
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND constraint_name = 'outbox_key_of_an_outcome') > 0,
    'DO 0',
    'ALTER TABLE outbox
         ADD CONSTRAINT outbox_key_of_an_outcome
             CHECK (revision > 0 OR idempotency_key NOT LIKE ''outcome:________-____-____-____-____________:%'')');
PREPARE outbox_keys FROM @outbox_keys;
EXECUTE outbox_keys;
DEALLOCATE PREPARE outbox_keys;
SET @outbox_keys = NULL /*M! , SESSION check_constraint_checks = DEFAULT */;

UPDATE outbox_meta SET schema_version = 11, serves_from = 2;
