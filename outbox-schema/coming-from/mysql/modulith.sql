-- From Spring Modulith's event publication registry to this outbox, on MySQL and MariaDB, for its tables of 1.x and of 2.x: a
-- trigger makes each publication for a listener that has a route a message, in the transaction of the application.
-- docs/coming-from.md has the order of the steps.
-- Yours are the routes, where you want one the ordering key, and outbox_takes_modulith: whether a publication without a message stays
-- without one or fails the insert. As an account that owns the tables and stays, after `outbox migrate`, in the database that holds the
-- tables:
--   mariadb shop < modulith.sql
-- It can be run again. Under a binary log MySQL asks for SUPER, or log_bin_trust_function_creators = 1, to make a trigger
-- (error 1419).

SET SESSION lock_wait_timeout = 5;

-- Where the publications of a listener go. listener_id is the id of the listener that does nothing any more, former_id that of
-- the listener which sent by itself, and sends until its last process is gone.
CREATE TABLE IF NOT EXISTS event_publication_route (
    listener_id varchar(512) NOT NULL PRIMARY KEY,
    former_id   varchar(512) UNIQUE,
    channel     varchar(64) NOT NULL,
    target      text NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
REPLACE INTO event_publication_route (listener_id, former_id, channel, target) VALUES
    ('order-webhook', 'shop.Webhooks.on(shop.OrderPlaced)', 'http', '/hooks/orders');

-- What becomes of each publication. For an order among messages, a property of the event as the ordering key:
-- JSON_VALUE(e.SERIALIZED_EVENT, '$.orderId').
CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_from_modulith AS
    SELECT e.ID AS source_id,
           e.ID AS idempotency_key,
           r.channel,
           r.target,
           CONVERT(e.SERIALIZED_EVENT USING utf8mb4) AS payload,
           JSON_OBJECT('X-Event-Type', e.EVENT_TYPE) AS headers,
           CAST(NULL AS char(255)) AS ordering_key,
           e.LISTENER_ID = r.former_id AS is_former,
           e.PUBLICATION_DATE AS published_at,
           e.COMPLETION_DATE IS NULL AS waits
    FROM EVENT_PUBLICATION e JOIN event_publication_route r ON e.LISTENER_ID IN (r.listener_id, r.former_id);

-- Whether a new publication becomes a message, or several where the view gives several. An insert fails where this says yes and the
-- view makes no message. Where this says no, nothing is sent of it, since its listener does nothing. To allow a member without a device,
-- add
--   AND EXISTS (SELECT 1 FROM devices d WHERE d.member_id = JSON_VALUE(p_event, '$.memberId'))
DROP FUNCTION IF EXISTS outbox_takes_modulith;
CREATE FUNCTION outbox_takes_modulith(
    p_listener_id varchar(512) CHARACTER SET utf8mb4, p_event longtext CHARACTER SET utf8mb4) RETURNS boolean
READS SQL DATA
RETURN EXISTS (SELECT 1 FROM event_publication_route r WHERE r.listener_id = p_listener_id);

DROP TRIGGER IF EXISTS outbox_take_modulith;
DELIMITER //
-- At the insert alone: Modulith updates no event that it has written. It acts with the rights of whoever runs this file, so the
-- application needs no new right.
CREATE TRIGGER outbox_take_modulith AFTER INSERT ON EVENT_PUBLICATION FOR EACH ROW
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
        SET problem = LEFT(CONCAT('outbox: row ', NEW.ID, ' of EVENT_PUBLICATION: ', problem), 128);
        RESIGNAL SET MESSAGE_TEXT = problem;
    END;
    IF NEW.COMPLETION_DATE IS NULL AND outbox_takes_modulith(NEW.LISTENER_ID, NEW.SERIALIZED_EVENT) THEN
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
        SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key
        FROM outbox_from_modulith m WHERE m.source_id = NEW.ID;
        IF ROW_COUNT() = 0 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the view outbox_from_modulith makes no message of it';
        END IF;
    END IF;
END//
DELIMITER ;
