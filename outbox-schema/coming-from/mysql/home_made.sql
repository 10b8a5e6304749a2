-- From a home-made outbox table to this outbox, on MySQL and MariaDB: triggers make each new row of outbox_events a message, in
-- the transaction of the application, and the rows that wait become messages here. docs/coming-from.md has the order of the
-- steps.
-- Yours are the routes, the names and the states of the table, and outbox_takes_event: whether a row without a message stays with
-- the old publisher or fails the insert. As an account that owns the tables and stays, after `outbox migrate`, with the old publisher
-- stopped, in the database that holds the tables:
--   mariadb shop < home_made.sql
-- It can be run again, also where it broke off. Under a binary log MySQL asks for SUPER, or
-- log_bin_trust_function_creators = 1, to make a trigger (error 1419).

SET SESSION lock_wait_timeout = 5;

-- Where the rows of a type go. Rows of a type without a route stay with the old publisher.
CREATE TABLE IF NOT EXISTS outbox_events_route (
    event_type varchar(255) NOT NULL PRIMARY KEY,
    channel    varchar(64) NOT NULL,
    target     text NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
REPLACE INTO outbox_events_route (event_type, channel, target) VALUES
    ('order.placed',  'http', '/hooks/orders'),
    ('order.shipped', 'http', '/hooks/shipments');

-- What becomes of each row: read it before the triggers are made, and after.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_from_events AS
    SELECT e.id AS source_id,
           CONCAT('outbox_events-', e.id) AS idempotency_key,
           r.channel,
           r.target,
           CONVERT(e.payload USING utf8mb4) AS payload,
           JSON_OBJECT('X-Event-Type', e.event_type) AS headers,
           e.aggregate_id AS ordering_key,
           e.status
    FROM outbox_events e LEFT JOIN outbox_events_route r ON r.event_type = e.event_type;

-- Whether a new row becomes a message, or several where the view gives several. An insert fails where this says yes and the view
-- makes no message. Where this says no, the row stays with the old publisher. To let a member without a device stay, add
--   AND EXISTS (SELECT 1 FROM devices d WHERE d.member_id = p_aggregate_id)
DROP FUNCTION IF EXISTS outbox_takes_event;
CREATE FUNCTION outbox_takes_event(
    p_event_type varchar(255) CHARACTER SET utf8mb4, p_aggregate_id varchar(255) CHARACTER SET utf8mb4) RETURNS boolean
READS SQL DATA
RETURN EXISTS (SELECT 1 FROM outbox_events_route r WHERE r.event_type = p_event_type);

-- First the one that marks: a row that is marked has its message.
DROP TRIGGER IF EXISTS outbox_mark_event;
DROP TRIGGER IF EXISTS outbox_take_event;
DROP TRIGGER IF EXISTS outbox_keep_event;
DROP TRIGGER IF EXISTS outbox_carry_event;

-- The rows of which messages are made below: what the view makes no message of goes on waiting.
DROP TEMPORARY TABLE IF EXISTS outbox_taken;
CREATE TEMPORARY TABLE outbox_taken (source_id bigint NOT NULL PRIMARY KEY)
    DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Waits for open transactions that write the table, and keeps out others until the triggers are there: each row is met by the
-- statements or by the triggers.
LOCK TABLES outbox_events AS e WRITE, outbox_events WRITE, outbox_events_route AS r READ, outbox_from_events AS m READ,
            outbox WRITE, outbox AS o READ;
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key
FROM outbox_from_events m
WHERE m.status = 'PENDING' AND m.channel IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.idempotency_key = m.idempotency_key)
ORDER BY m.source_id;
INSERT INTO outbox_taken (source_id)
SELECT DISTINCT m.source_id
FROM outbox_from_events m JOIN outbox o ON o.idempotency_key = m.idempotency_key
WHERE m.status = 'PENDING';
UPDATE outbox_events e JOIN outbox_taken taken ON taken.source_id = e.id
SET e.status = 'SUCCESS', e.sent_at = CURRENT_TIMESTAMP(6);

DELIMITER //
-- The message comes after the insert: where that is skipped for a known key, there is none. Both triggers act with the
-- rights of whoever runs this file, so the application needs no new right.
CREATE TRIGGER outbox_take_event AFTER INSERT ON outbox_events FOR EACH ROW
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
        SET problem = LEFT(CONCAT('outbox: row ', NEW.id, ' of outbox_events: ', problem), 128);
        RESIGNAL SET MESSAGE_TEXT = problem;
    END;
    IF @outbox_takes THEN
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
        SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key
        FROM outbox_from_events m WHERE m.source_id = NEW.id;
        SET made = ROW_COUNT();
        -- It is marked already, so it cannot stay.
        IF made = 0 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the view outbox_from_events makes no message of it';
        ELSEIF made > 0 THEN
            SET @outbox_own = SUBSTRING_INDEX(CONCAT_WS(',', NEW.id, @outbox_own), ',', 100);
        END IF;
    END IF;
    SET @outbox_takes = NULL;
END//

-- The row is marked as the old publisher would mark it, so no publisher finds it any more.
-- It comes last: a row that is marked has its message.
CREATE TRIGGER outbox_mark_event BEFORE INSERT ON outbox_events FOR EACH ROW
BEGIN
    SET @outbox_takes = NEW.status = 'PENDING' AND outbox_takes_event(NEW.event_type, NEW.aggregate_id);
    IF @outbox_takes THEN
        SET NEW.status = 'SUCCESS', NEW.sent_at = CURRENT_TIMESTAMP(6);
    END IF;
END//

-- An ORM updates the row that it has inserted, all columns of it: a row that has its message stays marked.
CREATE TRIGGER outbox_keep_event BEFORE UPDATE ON outbox_events FOR EACH ROW
BEGIN
    IF OLD.status = 'SUCCESS' AND NEW.status = 'PENDING' AND EXISTS (
        SELECT 1 FROM outbox_from_events m JOIN outbox o ON o.idempotency_key = m.idempotency_key
        WHERE m.source_id = OLD.id)
    THEN
        SET NEW.status = OLD.status, NEW.sent_at = OLD.sent_at;
    END IF;
END//

-- And its message becomes what the row is now, as long as nobody has claimed it: the message is what was committed. Name here
-- the columns that the view reads.
CREATE TRIGGER outbox_carry_event AFTER UPDATE ON outbox_events FOR EACH ROW
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
    DECLARE messages CURSOR FOR
        SELECT o.id, m.channel, m.target, m.payload, m.headers, m.ordering_key
        FROM outbox_from_events m JOIN outbox o ON o.idempotency_key = m.idempotency_key
        WHERE m.source_id = NEW.id AND m.channel IS NOT NULL AND o.status = 'PENDING' AND o.revision = 0 AND NOT EXISTS (
            SELECT 1 FROM outbox_claim c WHERE JSON_CONTAINS(c.message_ids, CAST(o.id AS char)));
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS conditions = NUMBER;
        GET DIAGNOSTICS CONDITION conditions problem = MESSAGE_TEXT;
        SET problem = LEFT(CONCAT('outbox: row ', NEW.id, ' of outbox_events: ', problem), 128);
        RESIGNAL SET MESSAGE_TEXT = problem;
    END;
    IF NEW.status = 'SUCCESS'
       AND NOT (OLD.payload <=> NEW.payload AND OLD.event_type <=> NEW.event_type AND OLD.aggregate_id <=> NEW.aggregate_id) THEN
        -- As outbox_cancel does: no claim is made meanwhile that this transaction does not see.
        DO (SELECT COUNT(*) FROM outbox_cancelling LOCK IN SHARE MODE);
        OPEN messages;
        carrying: LOOP
            FETCH messages INTO the_id, the_channel, the_target, the_payload, the_headers, the_ordering_key;
            IF ended THEN
                LEAVE carrying;
            END IF;
            -- At REPEATABLE READ and above only a read that locks sees the newest claims, and no other is made until this transaction
            -- ends. So it is not for a row that this connection inserted just before, which in its transaction nobody can claim.
            IF /*M! @@tx_isolation */ /*!50701 @@transaction_isolation */ <> 'READ-COMMITTED'
               AND NOT COALESCE(FIND_IN_SET(NEW.id, @outbox_own), 0) THEN
                -- MariaDB from 11.6.2 on ends a transaction whose lock meets a newer row: there the message stays as it is.
                /*M!110602 IF @@innodb_snapshot_isolation THEN SET claimed = TRUE; ELSE */
                SELECT COUNT(*) > 0 INTO claimed FROM outbox_claim c
                WHERE JSON_CONTAINS(c.message_ids, CAST(the_id AS char)) LOCK IN SHARE MODE;
                /*M!110602 END IF; */
            END IF;
            UPDATE outbox SET channel = the_channel, target = the_target, payload = the_payload, headers = the_headers, ordering_key = the_ordering_key
            WHERE id = the_id AND status = 'PENDING' AND revision = 0 AND NOT claimed;
        END LOOP;
        CLOSE messages;
    END IF;
END//
DELIMITER ;
UNLOCK TABLES;
DROP TEMPORARY TABLE outbox_taken;
