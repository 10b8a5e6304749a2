-- The publications that the former listeners left behind become messages, on MySQL and MariaDB, and are completed in the
-- registry. As who ran modulith.sql, when no process of the application with the former listeners runs any more:
--   mariadb shop < modulith_waiting.sql
-- It can be run again.

-- 2.x has a status, 1.x does not.
SET @outbox_complete = (
    SELECT IF(COUNT(*) > 0, ', e.STATUS = ''COMPLETED''', '') FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'EVENT_PUBLICATION' AND column_name = 'STATUS');
SET @outbox_complete = CONCAT(
    'UPDATE EVENT_PUBLICATION e JOIN outbox_taken taken ON taken.source_id = e.ID
     SET e.COMPLETION_DATE = CURRENT_TIMESTAMP(6)', @outbox_complete);
-- The publications of which messages are made below: what the view makes no message of stays as it is.
DROP TEMPORARY TABLE IF EXISTS outbox_taken;
CREATE TEMPORARY TABLE outbox_taken (source_id varchar(36) NOT NULL PRIMARY KEY)
    DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
PREPARE outbox_complete FROM @outbox_complete;
START TRANSACTION;
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key
FROM outbox_from_modulith m
WHERE m.is_former AND m.waits
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.idempotency_key = m.idempotency_key)
ORDER BY m.published_at, m.source_id;
INSERT INTO outbox_taken (source_id)
SELECT DISTINCT m.source_id
FROM outbox_from_modulith m JOIN outbox o ON o.idempotency_key = m.idempotency_key
WHERE m.is_former AND m.waits;
EXECUTE outbox_complete;
COMMIT;
DEALLOCATE PREPARE outbox_complete;
DROP TEMPORARY TABLE outbox_taken;
