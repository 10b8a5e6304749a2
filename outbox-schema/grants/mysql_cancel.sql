-- Makes it possible to cancel messages on MySQL and MariaDB in the application's own transactions, and grants it. Replace
--   APPLICATION  by the account of the application, as 'shop'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, as whoever owns the tables, for example
--   sed "s/APPLICATION/'shop'@'%'/" mysql_cancel.sql | mariadb shop
-- It is a right of its own, because whoever has it can keep any message that waits from being sent. It gives no right to
-- a table: the procedure acts with the rights of whoever ran this.

DROP PROCEDURE IF EXISTS outbox_cancel;
DELIMITER //
-- Answers with one row, `cancelled`: 1 says that the message is never sent if the caller's transaction commits. 0 says that
-- it is not there, has an outcome, or that somebody has it in hand: it is claimed, or being claimed, marked or cancelled.
--
-- A claim and a cancellation must each know of the other before either has committed. So a cancellation locks the shard's row
-- of outbox_cancelling, shared, and the message's row, until its transaction ends; a claim that cannot have the former
-- exclusively passes over messages that are locked. Neither waits for the other but a cancellation for the one claim that is
-- being made.
CREATE PROCEDURE outbox_cancel(IN p_key varchar(255) CHARACTER SET utf8mb4, IN p_why text CHARACTER SET utf8mb4)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE the_id bigint;
    DECLARE the_revision integer;
    DECLARE the_shard smallint;
    DECLARE the_channel varchar(64) CHARACTER SET utf8mb4;
    DECLARE cancelled boolean DEFAULT FALSE;

    BEGIN
        DECLARE EXIT HANDLER FOR 1305 SIGNAL SQLSTATE '45000'
            SET MESSAGE_TEXT = 'not cancelled: call outbox_cancel in a transaction (BEGIN, or autocommit off)';
        -- Without a transaction a savepoint is gone as soon as it is made.
        SAVEPOINT outbox_cancel;
        RELEASE SAVEPOINT outbox_cancel;
    END;
    -- Claims must be seen as of this moment. MariaDB and MySQL each read their own name of the setting here.
    IF /*M! @@tx_isolation */ /*!50701 @@transaction_isolation */ <> 'READ-COMMITTED' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'not cancelled: outbox_cancel needs SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED before BEGIN';
    END IF;

    SELECT o.shard INTO the_shard FROM outbox o WHERE o.idempotency_key = p_key;
    SELECT c.shard INTO the_shard FROM outbox_cancelling c WHERE c.shard = the_shard LOCK IN SHARE MODE;

    -- A look before the lock: its mark, and all other marks with it, would wait for the lock of a message in flight.
    SELECT o.id, o.revision, o.channel INTO the_id, the_revision, the_channel
    FROM outbox o WHERE o.idempotency_key = p_key AND o.status = 'PENDING' AND NOT EXISTS (
        SELECT 1 FROM outbox_claim c
        STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
        WHERE sent.id = o.id AND JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']')) = o.revision);
    IF the_id IS NOT NULL THEN
        SET the_id = (SELECT o.id FROM outbox o
                      WHERE o.id = the_id AND o.status = 'PENDING' AND o.revision = the_revision FOR UPDATE SKIP LOCKED);
    END IF;
    IF the_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM outbox_claim c
        STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
        WHERE sent.id = the_id AND JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']')) = the_revision)
    THEN
        INSERT INTO outbox_audit (who, action, why, message_id, details)
        VALUES (LEFT(USER(), 255), 'cancel', NULLIF(LEFT(p_why, 4096), ''), the_id,
                JSON_OBJECT('idempotency_key', p_key, 'channel', the_channel, 'revision', the_revision));
        UPDATE outbox
        SET status = 'DEAD', dead_reason = 'cancelled', revision = revision + 1, finished_at = UTC_TIMESTAMP(6),
            error_hash = NULL, deferred_from = NULL
        WHERE id = the_id;
        SET cancelled = TRUE;
    END IF;
    SELECT cancelled;
END//
DELIMITER ;
GRANT EXECUTE ON PROCEDURE outbox_cancel TO APPLICATION;
