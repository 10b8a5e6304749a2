-- From namastack-outbox to this outbox, on MySQL and MariaDB: triggers make each new record of a handler that has a route a
-- message, in the transaction of the application, and the records that wait become messages here. docs/coming-from.md has the
-- order of the steps. Yours are the routes, and outbox_takes_record: whether a record without a message stays with namastack-outbox or
-- fails the insert. As an account that owns the tables and stays, after `outbox migrate`, with the application stopped or its records
-- all processed, in the database that holds the tables:
--   mariadb shop < namastack.sql
-- It can be run again, also where it broke off. Under a binary log MySQL asks for SUPER, or
-- log_bin_trust_function_creators = 1, to make a trigger (error 1419).

SET SESSION lock_wait_timeout = 5;

-- Where the records of a handler go. Records of a handler without a route stay with namastack-outbox.
CREATE TABLE IF NOT EXISTS outbox_record_route (
    handler_id varchar(700) NOT NULL PRIMARY KEY,
    channel    varchar(64) NOT NULL,
    target     text NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
REPLACE INTO outbox_record_route (handler_id, channel, target) VALUES
    ('shop.OrderHandler#handle(shop.OrderPlaced)',    'http', '/hooks/orders'),
    ('shop.ParcelHandler#handle(shop.OrderShipped)', 'http', '/hooks/shipments');

-- What becomes of each record. The key of a record without one is its id.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_from_namastack AS
    SELECT e.id AS source_id,
           e.id AS idempotency_key,
           r.channel,
           r.target,
           CONVERT(e.payload USING utf8mb4) AS payload,
           JSON_OBJECT('X-Record-Type', e.record_type) AS headers,
           NULLIF(e.record_key, e.id) AS ordering_key,
           JSON_VALUE(e.context, '$.traceparent') AS traceparent,
           JSON_VALUE(e.context, '$.tracestate') AS tracestate,
           e.status,
           e.created_at
    FROM outbox_record e LEFT JOIN outbox_record_route r ON r.handler_id = e.handler_id;

-- Whether a new record becomes a message, or several where the view gives several. An insert fails where this says yes and the view
-- makes no message. Where this says no, the record stays with namastack-outbox. To let a member without a device stay, add
--   AND EXISTS (SELECT 1 FROM devices d WHERE d.member_id = p_record_key)
DROP FUNCTION IF EXISTS outbox_takes_record;
CREATE FUNCTION outbox_takes_record(
    p_handler_id varchar(1000) CHARACTER SET utf8mb4, p_record_key varchar(255) CHARACTER SET utf8mb4) RETURNS boolean
READS SQL DATA
RETURN EXISTS (SELECT 1 FROM outbox_record_route r WHERE r.handler_id = p_handler_id);

-- First the one that marks: a record that is marked has its message.
DROP TRIGGER IF EXISTS outbox_mark_record;
DROP TRIGGER IF EXISTS outbox_take_record;
DROP TRIGGER IF EXISTS outbox_keep_record;
DROP TRIGGER IF EXISTS outbox_carry_record;

-- The records of which messages are made below: what the view makes no message of goes on waiting.
DROP TEMPORARY TABLE IF EXISTS outbox_taken;
CREATE TEMPORARY TABLE outbox_taken (source_id varchar(255) NOT NULL PRIMARY KEY)
    DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Waits for open transactions that write the table, and keeps out others until the triggers are there: each record is met by
-- the statements or by the triggers.
LOCK TABLES outbox_record AS e WRITE, outbox_record WRITE, outbox_record_route AS r READ, outbox_from_namastack AS m READ,
            outbox WRITE, outbox AS o READ;
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, traceparent, tracestate)
SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key, m.traceparent, m.tracestate
FROM outbox_from_namastack m
WHERE m.status = 'NEW' AND m.channel IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.idempotency_key = m.idempotency_key)
ORDER BY m.created_at, m.source_id;
INSERT INTO outbox_taken (source_id)
SELECT DISTINCT m.source_id
FROM outbox_from_namastack m JOIN outbox o ON o.idempotency_key = m.idempotency_key
WHERE m.status = 'NEW';
UPDATE outbox_record e JOIN outbox_taken taken ON taken.source_id = e.id
SET e.status = 'COMPLETED', e.completed_at = CURRENT_TIMESTAMP;

DELIMITER //
-- The message comes after the insert: where that is skipped for a known key, there is none. Both triggers act with the
-- rights of whoever runs this file, so the application needs no new right.
CREATE TRIGGER outbox_take_record AFTER INSERT ON outbox_record FOR EACH ROW
BEGIN
    DECLARE problem text CHARACTER SET utf8mb4;
    DECLARE conditions integer;
    DECLARE made integer;
    -- The message is there already.
    DECLARE CONTINUE HANDLER FOR 1062 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        -- The error is the last, behind warnings. MySQL takes 128 characters.
        GET DIAGNOSTICS conditions = NUMBER;
        GET DIAGNOSTICS CONDITION conditions problem = MESSAGE_TEXT;
        SET problem = LEFT(CONCAT('outbox: row ', NEW.id, ' of outbox_record: ', problem), 128);
        RESIGNAL SET MESSAGE_TEXT = problem;
    END;
    IF @outbox_takes THEN
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, traceparent, tracestate)
        SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key, m.traceparent, m.tracestate
        FROM outbox_from_namastack m WHERE m.source_id = NEW.id;
        SET made = ROW_COUNT();
        -- It is marked already, so it cannot stay.
        IF made = 0 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the view outbox_from_namastack makes no message of it';
        ELSEIF made > 0 THEN
            SET @outbox_own = SUBSTRING_INDEX(CONCAT_WS(',', NEW.id, @outbox_own), ',', 100);
        END IF;
    END IF;
    SET @outbox_takes = NULL;
END//

-- The record is completed, so no process finds it any more.
-- It comes last: a record that is marked has its message.
CREATE TRIGGER outbox_mark_record BEFORE INSERT ON outbox_record FOR EACH ROW
BEGIN
    SET @outbox_takes = NEW.status = 'NEW' AND outbox_takes_record(NEW.handler_id, NEW.record_key);
    IF @outbox_takes THEN
        SET NEW.status = 'COMPLETED', NEW.completed_at = CURRENT_TIMESTAMP;
    END IF;
END//

-- An ORM updates the record that it has inserted, all columns of it: a record that has its message stays marked.
CREATE TRIGGER outbox_keep_record BEFORE UPDATE ON outbox_record FOR EACH ROW
BEGIN
    IF OLD.status = 'COMPLETED' AND NEW.status = 'NEW' AND EXISTS (
        SELECT 1 FROM outbox_from_namastack m JOIN outbox o ON o.idempotency_key = m.idempotency_key
        WHERE m.source_id = OLD.id)
    THEN
        SET NEW.status = OLD.status, NEW.completed_at = OLD.completed_at;
    END IF;
END//

-- And its message becomes what the record is now, as long as nobody has claimed it: the message is what was committed. Name here
-- the columns that the view reads.
CREATE TRIGGER outbox_carry_record AFTER UPDATE ON outbox_record FOR EACH ROW
BEGIN
    DECLARE problem text CHARACTER SET utf8mb4;
    DECLARE conditions integer;
    DECLARE ended boolean DEFAULT FALSE;
    DECLARE claimed boolean DEFAULT FALSE;
    DECLARE the_id bigint;
    DECLARE the_channel varchar(64) CHARACTER SET utf8mb4;
    DECLARE the_target text CHARACTER SET utf8mb4;
    DECLARE the_payload longtext CHARACTER SET utf8mb4;
    DECLARE the_headers longtext CHARACTER SET utf8mb4;
    DECLARE the_ordering_key varchar(255) CHARACTER SET utf8mb4;
    DECLARE the_traceparent varchar(64) CHARACTER SET utf8mb4;
    DECLARE the_tracestate varchar(512) CHARACTER SET utf8mb4;
    DECLARE messages CURSOR FOR
        SELECT o.id, m.channel, m.target, m.payload, m.headers, m.ordering_key, m.traceparent, m.tracestate
        FROM outbox_from_namastack m JOIN outbox o ON o.idempotency_key = m.idempotency_key
        WHERE m.source_id = NEW.id AND m.channel IS NOT NULL AND o.status = 'PENDING' AND o.revision = 0 AND NOT EXISTS (
            SELECT 1 FROM outbox_claim c WHERE JSON_CONTAINS(c.message_ids, CAST(o.id AS char)));
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS conditions = NUMBER;
        GET DIAGNOSTICS CONDITION conditions problem = MESSAGE_TEXT;
        SET problem = LEFT(CONCAT('outbox: row ', NEW.id, ' of outbox_record: ', problem), 128);
        RESIGNAL SET MESSAGE_TEXT = problem;
    END;
    IF NEW.status = 'COMPLETED'
       AND NOT (OLD.payload <=> NEW.payload AND OLD.handler_id <=> NEW.handler_id AND OLD.record_key <=> NEW.record_key
            AND OLD.record_type <=> NEW.record_type AND OLD.context <=> NEW.context) THEN
        -- As outbox_cancel does: no claim is made meanwhile that this transaction does not see.
        DO (SELECT COUNT(*) FROM outbox_cancelling LOCK IN SHARE MODE);
        OPEN messages;
        carrying: LOOP
            FETCH messages INTO the_id, the_channel, the_target, the_payload, the_headers, the_ordering_key, the_traceparent, the_tracestate;
            IF ended THEN
                LEAVE carrying;
            END IF;
            -- At REPEATABLE READ and above only a read that locks sees the newest claims, and no other is made until this transaction
            -- ends. So it is not for a record that this connection inserted just before, which in its transaction nobody can claim.
            IF /*M! @@tx_isolation */ /*!50701 @@transaction_isolation */ <> 'READ-COMMITTED'
               AND NOT COALESCE(FIND_IN_SET(NEW.id, @outbox_own), 0) THEN
                -- MariaDB from 11.6.2 on ends a transaction whose lock meets a newer row: there the message stays as it is.
                /*M!110602 IF @@innodb_snapshot_isolation THEN SET claimed = TRUE; ELSE */
                SELECT COUNT(*) > 0 INTO claimed FROM outbox_claim c
                WHERE JSON_CONTAINS(c.message_ids, CAST(the_id AS char)) LOCK IN SHARE MODE;
                /*M!110602 END IF; */
            END IF;
            UPDATE outbox SET channel = the_channel, target = the_target, payload = the_payload, headers = the_headers, ordering_key = the_ordering_key, traceparent = the_traceparent, tracestate = the_tracestate
            WHERE id = the_id AND status = 'PENDING' AND revision = 0 AND NOT claimed;
        END LOOP;
        CLOSE messages;
    END IF;
END//
DELIMITER ;
UNLOCK TABLES;
DROP TEMPORARY TABLE outbox_taken;
