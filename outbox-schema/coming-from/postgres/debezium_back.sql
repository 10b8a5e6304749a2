-- Back from this outbox to Debezium's, on PostgreSQL: new rows make no messages any more. The messages that wait are left to
-- the dispatcher, which sends them. docs/coming-from.md has the order of the steps. As who ran debezium.sql:
--   psql -1 -v ON_ERROR_STOP=1 -f debezium_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

-- With this line, in the same transaction, Debezium reads from here on:
--   ALTER PUBLICATION dbz_publication ADD TABLE outboxevent;
DROP TRIGGER outbox_take_debezium ON outboxevent;
DROP FUNCTION outbox_take_debezium();
DROP VIEW outbox_from_debezium;
DROP TABLE outboxevent_route;
