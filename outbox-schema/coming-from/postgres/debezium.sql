-- From Debezium's outbox table to this outbox, on PostgreSQL: a trigger makes each new row of outboxevent a message, in the
-- transaction of the application, also where that deletes the row again at once. docs/coming-from.md has the order of the
-- steps.
-- Yours are the routes, the name of the table, and `without_message`: whether a row without a message is Debezium's alone or fails the
-- insert. After `outbox migrate`, as the owner of the outbox's tables, who is no superuser and has the rights of your table's owner
-- (GRANT shop TO outbox_owner):
--   psql -1 -v ON_ERROR_STOP=1 -f debezium.sql DATABASE
-- It is one transaction, and can be run again.

SET LOCAL lock_timeout = '5s';

-- Where the events of an aggregate go, as the event router routes by aggregatetype. The others are Debezium's alone.
CREATE TABLE IF NOT EXISTS outboxevent_route (
    aggregatetype varchar(255) PRIMARY KEY,
    channel       varchar(64) NOT NULL,
    target        text NOT NULL
);
INSERT INTO outboxevent_route (aggregatetype, channel, target) VALUES
    ('order',    'http', '/hooks/orders'),
    ('customer', 'http', '/hooks/customers')
ON CONFLICT (aggregatetype) DO UPDATE SET channel = excluded.channel, target = excluded.target;

-- What becomes of each row. The key is the id that Debezium's consumers know as the header `id`, and what it gives Kafka as
-- the key of the event orders the messages. An event without a payload, Kafka's tombstone, is sent as null.
-- A payload of bytea: convert_from(e.payload, 'UTF8')::jsonb.
CREATE OR REPLACE VIEW outbox_from_debezium AS
    SELECT e.id AS source_id,
           e.id::text AS idempotency_key,
           r.channel,
           r.target,
           coalesce(e.payload::jsonb, 'null') AS payload,
           jsonb_build_object('X-Event-Type', e.type) AS headers,
           e.aggregatetype || '/' || e.aggregateid AS ordering_key
    FROM outboxevent e LEFT JOIN outboxevent_route r USING (aggregatetype);

-- It acts with the rights of whoever runs this file, so the application needs no new right. It finds tables by this path
-- alone: add the schema of the outbox's tables where that is another.
CREATE OR REPLACE FUNCTION outbox_take_debezium() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    -- Or 'stays': what becomes of a row that has a route, and of which the view makes no message.
    without_message CONSTANT text := 'fails';
    messages        outbox_from_debezium[];
    message         outbox_from_debezium;
BEGIN
    -- What can fail is caught where nothing is written: such a block costs no transaction id.
    BEGIN
        SELECT array_agg(m) INTO messages FROM outbox_from_debezium m WHERE m.source_id = NEW.id;
    EXCEPTION WHEN OTHERS THEN
        RAISE EXCEPTION USING ERRCODE = SQLSTATE,
            MESSAGE = format('row %s of outboxevent cannot become a message: %s', NEW.id, SQLERRM),
            HINT = 'The view outbox_from_debezium makes the message.';
    END;
    IF messages IS NULL AND without_message = 'fails' AND EXISTS (
        SELECT FROM outboxevent_route WHERE aggregatetype = NEW.aggregatetype)
    THEN
        RAISE EXCEPTION USING
            MESSAGE = format('row %s of outboxevent cannot become a message: the view makes none of it', NEW.id),
            HINT = 'The view outbox_from_debezium makes the message.';
    END IF;
    FOREACH message IN ARRAY coalesce(messages, '{}') LOOP
        CONTINUE WHEN message.channel IS NULL;
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
        VALUES (message.idempotency_key, message.channel, message.target, message.payload, message.headers, message.ordering_key)
        ON CONFLICT (idempotency_key) DO NOTHING;
    END LOOP;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION outbox_take_debezium() FROM PUBLIC;

-- At the insert, as Debezium's event router reads inserts alone: at the commit the row may be gone.
-- Waits for open transactions that write the table: each of their rows is Debezium's, and each later one has its message.
DROP TRIGGER IF EXISTS outbox_take_debezium ON outboxevent;
CREATE TRIGGER outbox_take_debezium AFTER INSERT ON outboxevent
    FOR EACH ROW EXECUTE FUNCTION outbox_take_debezium();

-- With this line, in the same transaction, Debezium reads on to here and no further, however late it comes. It is for a
-- publication that names its tables: \dRp+ shows them.
--   ALTER PUBLICATION dbz_publication DROP TABLE outboxevent;
