-- The publications that the former listeners left behind become messages, on MySQL and MariaDB, and are completed in the
-- registry. As who ran modulith.sql, when no process of the application with the former listeners runs any more:
--   mariadb shop < modulith_waiting.sql
-- It can be run again.

-- 2.x has a status, 1.x does not.
SET @outbox_complete = (
    SELECT IF(COUNT(*) > 0, ', e.STATUS = ''COMPLETED''', '') FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'EVENT_PUBLICATION' AND column_name = 'STATUS');
SET @outbox_complete = CONCAT(
    'UPDATE EVENT_PUBLICATION e JOIN event_publication_route r ON r.former_id = e.LISTENER_ID
     SET e.COMPLETION_DATE = CURRENT_TIMESTAMP(6)', @outbox_complete, ' WHERE e.COMPLETION_DATE IS NULL');
PREPARE outbox_complete FROM @outbox_complete;
START TRANSACTION;
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key
FROM outbox_from_modulith m
WHERE m.is_former AND m.waits
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.idempotency_key = m.idempotency_key)
ORDER BY m.published_at, m.source_id;
EXECUTE outbox_complete;
COMMIT;
DEALLOCATE PREPARE outbox_complete;
