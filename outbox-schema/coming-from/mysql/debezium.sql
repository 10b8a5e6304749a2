-- From Debezium's outbox table to this outbox, on MySQL and MariaDB: a trigger makes each new row of outboxevent a message, in
-- the transaction of the application, also where that deletes the row again at once. docs/coming-from.md has the order of the
-- steps. Yours are the routes, the name of the table, and outbox_takes_debezium: whether a row without a message is Debezium's alone or
-- fails the insert. As an account that owns the tables and stays, after `outbox migrate`, in the database that holds the tables:
--   mariadb shop < debezium.sql
-- It can be run again. Under a binary log, which Debezium needs, MySQL and MariaDB ask for SUPER, or
-- log_bin_trust_function_creators = 1, to make a trigger (error 1419).

SET SESSION lock_wait_timeout = 5;

-- Where the events of an aggregate go, as the event router routes by aggregatetype. The others are Debezium's alone.
CREATE TABLE IF NOT EXISTS outboxevent_route (
    aggregatetype varchar(255) NOT NULL PRIMARY KEY,
    channel       varchar(64) NOT NULL,
    target        text NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
REPLACE INTO outboxevent_route (aggregatetype, channel, target) VALUES
    ('order',    'http', '/hooks/orders'),
    ('customer', 'http', '/hooks/customers');

-- What becomes of each row. The key is the id that Debezium's consumers know as the header `id`, and what it gives Kafka as
-- the key of the event orders the messages. An event without a payload, Kafka's tombstone, is sent as null.
-- An id of binary(16): BIN_TO_UUID(e.id) on MySQL.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_from_debezium AS
    SELECT e.id AS source_id,
           e.id AS idempotency_key,
           r.channel,
           r.target,
           COALESCE(CONVERT(e.payload USING utf8mb4), 'null') AS payload,
           JSON_OBJECT('X-Event-Type', e.type) AS headers,
           CONCAT(e.aggregatetype, '/', e.aggregateid) AS ordering_key
    FROM outboxevent e LEFT JOIN outboxevent_route r ON r.aggregatetype = e.aggregatetype;

-- Whether a new row becomes a message, or several where the view gives several. An insert fails where this says yes and the view
-- makes no message. Where this says no, the row is Debezium's alone. To let a member without a device stay, add
--   AND EXISTS (SELECT 1 FROM devices d WHERE d.member_id = p_aggregateid)
DROP FUNCTION IF EXISTS outbox_takes_debezium;
CREATE FUNCTION outbox_takes_debezium(
    p_aggregatetype varchar(255) CHARACTER SET utf8mb4, p_aggregateid varchar(255) CHARACTER SET utf8mb4) RETURNS boolean
READS SQL DATA
RETURN EXISTS (SELECT 1 FROM outboxevent_route r WHERE r.aggregatetype = p_aggregatetype);

DROP TRIGGER IF EXISTS outbox_take_debezium;
DELIMITER //
-- At the insert alone, as Debezium's event router reads inserts alone. It acts with the rights of whoever runs this file, so the
-- application needs no new right.
CREATE TRIGGER outbox_take_debezium AFTER INSERT ON outboxevent FOR EACH ROW
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
        SET problem = LEFT(CONCAT('outbox: row ', NEW.id, ' of outboxevent: ', problem), 128);
        RESIGNAL SET MESSAGE_TEXT = problem;
    END;
    IF outbox_takes_debezium(NEW.aggregatetype, NEW.aggregateid) THEN
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
        SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key
        FROM outbox_from_debezium m WHERE m.source_id = NEW.id;
        IF ROW_COUNT() = 0 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the view outbox_from_debezium makes no message of it';
        END IF;
    END IF;
END//
DELIMITER ;
