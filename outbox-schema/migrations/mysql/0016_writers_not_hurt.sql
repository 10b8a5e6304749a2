-- Empty texts that nobody meant are refused.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- As in 0002: rows of before that would be refused get a revision. MySQL looks at finished rows too. A text of spaces alone
-- equals the empty one.
UPDATE outbox SET revision = revision + 1
WHERE revision = 0 AND (status = 'PENDING' /*!80000 OR TRUE */)
  AND (idempotency_key = '' OR idempotency_key LIKE '% ' OR ordering_key = '' OR ordering_key LIKE '% '
       OR tenant = '' OR tenant LIKE '% ' OR channel = '' OR target = '');

-- All messages with an empty key would be one, and all with an empty ordering key one line: leave the column out, or write NULL.
-- Texts are compared without the spaces at their end, so a key that ends in one is refused, as outbox_channel_ends_in_no_space does.
-- MariaDB reads the whole table where it is to check the rows that are there.
SET @outbox_empty = NULL /*M! , SESSION check_constraint_checks = 0 */;
SET @outbox_empty = IF(
    (SELECT COUNT(*) FROM information_schema.table_constraints
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND constraint_name = 'outbox_target_not_empty') > 0,
    'DO 0',
    'ALTER TABLE outbox
         ADD CONSTRAINT outbox_idempotency_key_not_empty CHECK (revision > 0 OR idempotency_key <> ''''),
         ADD CONSTRAINT outbox_ordering_key_not_empty CHECK (revision > 0 OR ordering_key <> ''''),
         ADD CONSTRAINT outbox_tenant_not_empty CHECK (revision > 0 OR tenant <> ''''),
         ADD CONSTRAINT outbox_channel_not_empty CHECK (revision > 0 OR channel <> ''''),
         ADD CONSTRAINT outbox_target_not_empty CHECK (revision > 0 OR target <> ''''),
         ADD CONSTRAINT outbox_key_ends_in_no_space
             CHECK (revision > 0 OR idempotency_key NOT LIKE ''% '' AND COALESCE(ordering_key NOT LIKE ''% '', TRUE)
                                    AND COALESCE(tenant NOT LIKE ''% '', TRUE))');
PREPARE outbox_empty FROM @outbox_empty;
EXECUTE outbox_empty;
DEALLOCATE PREPARE outbox_empty;
SET @outbox_empty = NULL /*M! , SESSION check_constraint_checks = DEFAULT */;

UPDATE outbox_meta SET schema_version = 16, serves_from = 2;
