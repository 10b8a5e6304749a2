-- From a home-made outbox table to this outbox, on MySQL and MariaDB: triggers make each new row of outbox_events a message, in
-- the transaction of the application, and the rows that wait become messages here. docs/coming-from.md has the order of the
-- steps.
-- Yours are the routes, the names and the states of the table. As an account that owns the tables and stays, after `outbox
-- migrate`, with the old publisher stopped, in the database that holds the tables:
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

-- First the one that marks: a row that is marked has its message.
DROP TRIGGER IF EXISTS outbox_mark_event;
DROP TRIGGER IF EXISTS outbox_take_event;

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
UPDATE outbox_events e JOIN outbox_events_route r ON r.event_type = e.event_type
SET e.status = 'SUCCESS', e.sent_at = CURRENT_TIMESTAMP(6)
WHERE e.status = 'PENDING';

DELIMITER //
-- The message comes after the insert: where that is skipped for a known key, there is none. Both triggers act with the
-- rights of whoever runs this file, so the application needs no new right.
CREATE TRIGGER outbox_take_event AFTER INSERT ON outbox_events FOR EACH ROW
BEGIN
    DECLARE problem text CHARACTER SET utf8mb4;
    DECLARE conditions integer;
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
    END IF;
    SET @outbox_takes = NULL;
END//

-- The row is marked as the old publisher would mark it, so no publisher finds it any more.
-- It comes last: a row that is marked has its message.
CREATE TRIGGER outbox_mark_event BEFORE INSERT ON outbox_events FOR EACH ROW
BEGIN
    SET @outbox_takes = NEW.status = 'PENDING'
        AND EXISTS (SELECT 1 FROM outbox_events_route r WHERE r.event_type = NEW.event_type);
    IF @outbox_takes THEN
        SET NEW.status = 'SUCCESS', NEW.sent_at = CURRENT_TIMESTAMP(6);
    END IF;
END//
DELIMITER ;
UNLOCK TABLES;
