-- Who shares a channel, and how large a row may be.
-- Each statement can be run again, as in 0001: the version in outbox_meta comes last.

-- As in 0002: rows of before that would be refused get a revision. MySQL looks at finished rows too.
UPDATE outbox SET revision = revision + 1
WHERE revision = 0 AND (status = 'PENDING' /*!80000 OR TRUE */)
  AND (OCTET_LENGTH(target) > 8192 OR OCTET_LENGTH(headers) > 65536);

-- tenant: who takes turns with others in the channel; NULL: the destination does. turn: from tenant to tenant, by a number, 15 bits
-- of it for the channel, so that the tenants of a channel lie together. Those that share a number share their turns. It is NULL
-- but for rows that wait and have no ordering key.
-- MariaDB reads the whole table where it is to check the rows that are there.
SET @outbox_turns = NULL /*M! , SESSION check_constraint_checks = 0 */;
SET @outbox_turns = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND column_name = 'turn') > 0,
    'DO 0',
    'ALTER TABLE outbox
         ADD tenant varchar(255),
         ADD turn bigint GENERATED ALWAYS AS
             (IF(status = ''PENDING'' AND ordering_key IS NULL,
                 ((CRC32(channel) & 32767) << 32) | CRC32(COALESCE(tenant, destination)), NULL)) VIRTUAL,
         ADD CONSTRAINT outbox_target_of_8_kib CHECK (OCTET_LENGTH(target) <= 8192 OR revision > 0),
         ADD CONSTRAINT outbox_headers_of_64_kib CHECK (OCTET_LENGTH(headers) <= 65536 OR revision > 0)');
PREPARE outbox_turns FROM @outbox_turns;
EXECUTE outbox_turns;
DEALLOCATE PREPARE outbox_turns;
SET @outbox_turns = NULL /*M! , SESSION check_constraint_checks = DEFAULT */;

SET @outbox_turns = IF(
    (SELECT COUNT(*) FROM information_schema.statistics
     WHERE table_schema = DATABASE() AND table_name = 'outbox' AND index_name = 'outbox_turns') > 0,
    'DO 0',
    'ALTER TABLE outbox ADD KEY outbox_turns (shard, turn, priority, available_at)');
PREPARE outbox_turns FROM @outbox_turns;
EXECUTE outbox_turns;
DEALLOCATE PREPARE outbox_turns;
SET @outbox_turns = NULL;

CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_new AS
    SELECT id, idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent,
           tracestate, tenant
    FROM outbox WHERE 1 = 0;

UPDATE outbox_meta SET schema_version = 4, serves_from = 2;
