-- Back from this outbox to Debezium's, on MySQL and MariaDB: new rows make no messages any more. The messages that wait are
-- left to the dispatcher, which sends them. docs/coming-from.md has the order of the steps. As who ran debezium.sql:
--   mariadb shop < debezium_back.sql

SET SESSION lock_wait_timeout = 5;

DROP TRIGGER IF EXISTS outbox_take_debezium;
DROP FUNCTION IF EXISTS outbox_takes_debezium;
DROP VIEW outbox_from_debezium;
DROP TABLE outboxevent_route;
