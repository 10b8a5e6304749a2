-- Back from this outbox to namastack-outbox, on MySQL and MariaDB: new records wait for their handlers again, and the
-- messages that were not sent are taken back. docs/coming-from.md has the order of the steps.
-- As who ran namastack.sql, with the dispatcher stopped:
--   mariadb shop < namastack_back.sql
-- It can be run again, where it broke off before its last lines.

SET SESSION lock_wait_timeout = 5;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- First the one that marks: a record that is marked has its message.
DROP TRIGGER IF EXISTS outbox_mark_record;
DROP TRIGGER IF EXISTS outbox_take_record;
DROP TRIGGER IF EXISTS outbox_keep_record;
DROP TRIGGER IF EXISTS outbox_carry_record;

-- Leave all up to COMMIT out to have the dispatcher send what waits, until `outbox status` counts nothing. A message that may
-- be on its way, because a poller claimed it and crashed, is not taken back: only the dispatcher can tell.
DROP TEMPORARY TABLE IF EXISTS outbox_taken_back;
CREATE TEMPORARY TABLE outbox_taken_back (id bigint NOT NULL PRIMARY KEY, source_id varchar(255) NOT NULL)
    DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
START TRANSACTION;
-- As outbox_cancel does: no claim is made meanwhile that this transaction does not see.
DO (SELECT COUNT(*) FROM outbox_cancelling LOCK IN SHARE MODE);
INSERT INTO outbox_taken_back (id, source_id)
SELECT o.id, m.source_id
FROM outbox o JOIN outbox_from_namastack m ON m.idempotency_key = o.idempotency_key
WHERE o.status = 'PENDING' FOR UPDATE;
-- A record goes back as a whole, or not at all: not where one of its messages was sent, or may be on its way.
DELETE taken FROM outbox_taken_back taken
JOIN outbox_from_namastack m ON m.source_id = taken.source_id
LEFT JOIN outbox o ON o.idempotency_key = m.idempotency_key
WHERE o.id IS NULL OR o.status <> 'PENDING';
DELETE taken FROM outbox_taken_back taken
JOIN outbox_from_namastack m ON m.source_id = taken.source_id
JOIN outbox o ON o.idempotency_key = m.idempotency_key
JOIN outbox_claim c
JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent ON sent.id = o.id
WHERE JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']')) = o.revision;
INSERT INTO outbox_audit (who, action, why, message_id, details)
SELECT LEFT(USER(), 255), 'cancel', 'back to outbox_record', o.id,
       JSON_OBJECT('idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision)
FROM outbox o JOIN outbox_taken_back taken ON taken.id = o.id;
UPDATE outbox_record e JOIN outbox_taken_back taken ON taken.source_id = e.id
SET e.status = 'NEW', e.completed_at = NULL, e.failure_count = 0, e.next_retry_at = e.created_at;
-- So that the keys are free: the records may come again.
DELETE o FROM outbox o JOIN outbox_taken_back taken ON taken.id = o.id;
DROP TEMPORARY TABLE IF EXISTS outbox_not_dead;
CREATE TEMPORARY TABLE outbox_not_dead (source_id varchar(255) NOT NULL PRIMARY KEY) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
SELECT DISTINCT m.source_id FROM outbox_from_namastack m JOIN outbox o ON o.idempotency_key = m.idempotency_key WHERE o.status <> 'DEAD';
-- Dead letters were not sent, and the table says so. Those that somebody cancelled were not meant to be.
UPDATE outbox_record e
JOIN outbox_from_namastack m ON m.source_id = e.id
JOIN outbox o ON o.idempotency_key = m.idempotency_key
SET e.status = 'FAILED', e.completed_at = NULL, e.failure_reason = LEFT(o.last_error, 1000)
WHERE o.status = 'DEAD' AND o.dead_reason <> 'cancelled' AND m.source_id NOT IN (
    SELECT source_id FROM outbox_not_dead);
COMMIT;
DROP TEMPORARY TABLE outbox_not_dead;
DROP TEMPORARY TABLE outbox_taken_back;

DROP FUNCTION IF EXISTS outbox_takes_record;
DROP VIEW outbox_from_namastack;
DROP TABLE outbox_record_route;
