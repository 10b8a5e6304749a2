-- Back from this outbox to Spring Modulith's registry, on MySQL and MariaDB: new publications make no messages any more, and
-- the messages that were not sent are taken back: their publications are incomplete again, for the former listener.
-- docs/coming-from.md has the order of the steps. As who ran modulith.sql, with the dispatcher stopped, when only processes
-- with the former listeners run:
--   mariadb shop < modulith_back.sql

SET SESSION lock_wait_timeout = 5;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

DROP TRIGGER IF EXISTS outbox_take_modulith;

-- Leave all up to COMMIT out to have the dispatcher send what waits, until `outbox status` counts nothing. Three kinds of
-- messages are not taken back, and wait for it: those that may be on their way, because a poller claimed them and crashed, those
-- whose publication is gone (completion-mode delete or archive), and those of a publication of several messages of which another was
-- sent: the publication would be sent as a whole.

-- 2.x has a status, 1.x does not.
SET @outbox_give_back = (
    SELECT IF(COUNT(*) > 0, ', e.STATUS = ''FAILED''', '') FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'EVENT_PUBLICATION' AND column_name = 'STATUS');
SET @outbox_give_back = CONCAT(
    'UPDATE EVENT_PUBLICATION e
     JOIN outbox_taken_back taken ON taken.source_id = e.ID
     JOIN event_publication_route r ON e.LISTENER_ID IN (r.listener_id, r.former_id)
     SET e.COMPLETION_DATE = NULL, e.LISTENER_ID = COALESCE(r.former_id, r.listener_id)', @outbox_give_back);
DROP TEMPORARY TABLE IF EXISTS outbox_taken_back;
CREATE TEMPORARY TABLE outbox_taken_back (id bigint NOT NULL PRIMARY KEY, source_id varchar(36) NOT NULL)
    DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
PREPARE outbox_give_back FROM @outbox_give_back;
START TRANSACTION;
-- As outbox_cancel does: no claim is made meanwhile that this transaction does not see.
DO (SELECT COUNT(*) FROM outbox_cancelling LOCK IN SHARE MODE);
INSERT INTO outbox_taken_back (id, source_id)
SELECT o.id, m.source_id
FROM outbox o JOIN outbox_from_modulith m ON m.idempotency_key = o.idempotency_key
WHERE o.status = 'PENDING' FOR UPDATE;
DELETE taken FROM outbox_taken_back taken
JOIN outbox_from_modulith m ON m.source_id = taken.source_id
LEFT JOIN outbox o ON o.idempotency_key = m.idempotency_key
WHERE o.id IS NULL OR o.status <> 'PENDING';
DELETE taken FROM outbox_taken_back taken
JOIN outbox_from_modulith m ON m.source_id = taken.source_id
JOIN outbox o ON o.idempotency_key = m.idempotency_key
JOIN outbox_claim c
JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent ON sent.id = o.id
WHERE JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']')) = o.revision;
INSERT INTO outbox_audit (who, action, why, message_id, details)
SELECT LEFT(USER(), 255), 'cancel', 'back to EVENT_PUBLICATION', o.id,
       JSON_OBJECT('idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision)
FROM outbox o JOIN outbox_taken_back taken ON taken.id = o.id;
EXECUTE outbox_give_back;
-- So that the keys are free: the publications may come again.
DELETE o FROM outbox o JOIN outbox_taken_back taken ON taken.id = o.id;
COMMIT;
DEALLOCATE PREPARE outbox_give_back;
DROP TEMPORARY TABLE outbox_taken_back;

DROP FUNCTION IF EXISTS outbox_takes_modulith;
DROP VIEW outbox_from_modulith;
DROP TABLE event_publication_route;
