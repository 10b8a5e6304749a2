-- Makes an index by which messages are found by a tag on MySQL and MariaDB, and grants it to those who look. Replace
--   DISPATCHER   by the account of the dispatcher, as 'outbox'@'%'
--   OPERATOR     by the account of people, as 'support'@'%'
-- and run it in the database that holds the tables, after `outbox migrate`, as whoever owns the tables, for example
--   sed "s/DISPATCHER/'outbox'@'%'/; s/OPERATOR/'support'@'%'/" mysql_tags.sql | mariadb shop
-- Without it `--tag` looks at the newest messages one by one. It is no part of `outbox migrate`: under a binary log the servers ask for
-- SUPER, or log_bin_trust_function_creators = 1, to make a trigger (error 1419), and a trigger acts with the rights of the account that
-- made it, which must stay. It can be run again.

CREATE TABLE IF NOT EXISTS outbox_tag (
    -- `order=4711`
    tag        varchar(320) NOT NULL,
    message_id bigint NOT NULL,
    PRIMARY KEY (tag, message_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

DROP TRIGGER IF EXISTS outbox_list_tags;
DROP TRIGGER IF EXISTS outbox_unlist_tags;
DELIMITER //
CREATE TRIGGER outbox_list_tags AFTER INSERT ON outbox FOR EACH ROW
BEGIN
    IF NEW.tags IS NOT NULL THEN
        INSERT INTO outbox_tag (tag, message_id)
        SELECT CONCAT(tag.name, '=', JSON_UNQUOTE(JSON_EXTRACT(NEW.tags, CONCAT('$.', JSON_QUOTE(tag.name))))), NEW.id
        FROM JSON_TABLE(JSON_KEYS(NEW.tags), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag;
    END IF;
END//
CREATE TRIGGER outbox_unlist_tags AFTER DELETE ON outbox FOR EACH ROW
BEGIN
    IF OLD.tags IS NOT NULL THEN
        DELETE FROM outbox_tag WHERE message_id = OLD.id AND tag IN (
            SELECT CONCAT(tag.name, '=', JSON_UNQUOTE(JSON_EXTRACT(OLD.tags, CONCAT('$.', JSON_QUOTE(tag.name)))))
            FROM JSON_TABLE(JSON_KEYS(OLD.tags), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag);
    END IF;
END//
DELIMITER ;

-- The messages of before.
INSERT IGNORE INTO outbox_tag (tag, message_id)
SELECT CONCAT(tag.name, '=', JSON_UNQUOTE(JSON_EXTRACT(o.tags, CONCAT('$.', JSON_QUOTE(tag.name))))), o.id
FROM outbox o
STRAIGHT_JOIN JSON_TABLE(JSON_KEYS(o.tags), '$[*]' COLUMNS (name varchar(64) CHARACTER SET utf8mb4 PATH '$')) AS tag
WHERE o.tags IS NOT NULL;

GRANT SELECT ON outbox_tag TO DISPATCHER;
GRANT SELECT ON outbox_tag TO OPERATOR;
