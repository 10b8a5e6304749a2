-- The right to ask what became of a message on MySQL and MariaDB, by its key. Replace
--   APPLICATION  by the account of the application, as 'shop'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, as whoever owns the tables, for example
--   sed "s/APPLICATION/'shop'@'%'/" mysql_outcome.sql | mariadb shop
-- It is a right of its own: whoever has it learns of any message whose key they know. It gives no right to a table, and shows neither
-- payload, target nor error: the procedure acts with the rights of whoever ran this.

DROP PROCEDURE IF EXISTS outbox_outcome;
DELIMITER //
-- Answers with one row, or none where no such message is there. Times are UTC.
CREATE PROCEDURE outbox_outcome(IN p_key varchar(255) CHARACTER SET utf8mb4)
READS SQL DATA SQL SECURITY DEFINER
BEGIN
    SELECT o.id, o.status, o.dead_reason AS reason, o.last_status_code AS status_code, o.fingerprint, o.attempts,
           CASE WHEN o.status = 'PENDING' THEN o.available_at END AS due_at, o.finished_at AS ended_at
    FROM outbox o WHERE o.idempotency_key = p_key;
END//
DELIMITER ;
GRANT EXECUTE ON PROCEDURE outbox_outcome TO APPLICATION;
