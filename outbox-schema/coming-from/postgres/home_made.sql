-- From a home-made outbox table to this outbox, on PostgreSQL: a trigger makes each new row of outbox_events a message, in the
-- transaction of the application, and the rows that wait become messages here. docs/coming-from.md has the order of the steps.
-- Yours are the routes, the names and the states of the table, and `without_message`: whether a row without a message stays with the
-- old publisher or fails the commit.
-- After `outbox migrate`, with the old publisher stopped, as the owner of
-- the outbox's tables, who is no superuser and has the rights of your table's owner (GRANT shop TO outbox_owner):
--   psql -1 -v ON_ERROR_STOP=1 -f home_made.sql DATABASE
-- It is one transaction, and can be run again.

SET LOCAL lock_timeout = '5s';

-- Where the rows of a type go. Rows of a type without a route stay with the old publisher.
CREATE TABLE IF NOT EXISTS outbox_events_route (
    event_type varchar(255) PRIMARY KEY,
    channel    varchar(64) NOT NULL,
    target     text NOT NULL
);
INSERT INTO outbox_events_route (event_type, channel, target) VALUES
    ('order.placed',  'http', '/hooks/orders'),
    ('order.shipped', 'http', '/hooks/shipments')
ON CONFLICT (event_type) DO UPDATE SET channel = excluded.channel, target = excluded.target;

-- What becomes of each row: read it before the triggers are made, and after.
CREATE OR REPLACE VIEW outbox_from_events AS
    SELECT e.id AS source_id,
           'outbox_events-' || e.id AS idempotency_key,
           r.channel,
           r.target,
           e.payload::jsonb AS payload,
           jsonb_build_object('X-Event-Type', e.event_type) AS headers,
           e.aggregate_id AS ordering_key
    FROM outbox_events e LEFT JOIN outbox_events_route r USING (event_type);

-- Makes a row a message, or several where the view gives several.
-- The row is marked as the old publisher would mark it, so no publisher finds it any more.
CREATE OR REPLACE FUNCTION outbox_take_event(p_id bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    -- Or 'stays': what becomes of a row that has a route, and of which the view makes no message.
    without_message CONSTANT text := 'fails';
    messages        outbox_from_events[];
    message         outbox_from_events;
BEGIN
    -- What can fail is caught where nothing is written: such a block costs no transaction id.
    BEGIN
        SELECT array_agg(m) INTO messages FROM outbox_from_events m WHERE m.source_id = p_id;
    EXCEPTION WHEN OTHERS THEN
        RAISE EXCEPTION USING ERRCODE = SQLSTATE,
            MESSAGE = format('row %s of outbox_events cannot become a message: %s', p_id, SQLERRM),
            HINT = 'The view outbox_from_events makes the message.';
    END;
    IF messages IS NULL AND without_message = 'fails' AND EXISTS (
        SELECT FROM outbox_events e JOIN outbox_events_route USING (event_type) WHERE e.id = p_id)
    THEN
        RAISE EXCEPTION USING
            MESSAGE = format('row %s of outbox_events cannot become a message: the view makes none of it', p_id),
            HINT = 'The view outbox_from_events makes the message.';
    END IF;
    FOREACH message IN ARRAY coalesce(messages, '{}') LOOP
        CONTINUE WHEN message.channel IS NULL;
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
        VALUES (message.idempotency_key, message.channel, message.target, message.payload, message.headers, message.ordering_key)
        ON CONFLICT (idempotency_key) DO NOTHING;
        UPDATE outbox_events SET status = 'SUCCESS', sent_at = now() WHERE id = p_id;
    END LOOP;
END
$$;

-- It acts with the rights of whoever runs this file, so the application needs no new right. It finds tables by this path
-- alone: add the schema of the outbox's tables where that is another.
CREATE OR REPLACE FUNCTION outbox_take_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM outbox_events WHERE id = NEW.id AND status = 'PENDING') THEN
        PERFORM outbox_take_event(NEW.id);
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION outbox_take_event(bigint), outbox_take_event() FROM PUBLIC;

-- Waits for open transactions that write the table, and keeps out others until this one ends: each row is met by the
-- statement or by the trigger.
LOCK TABLE outbox_events IN SHARE ROW EXCLUSIVE MODE;
DO $$
DECLARE
    waiting bigint;
BEGIN
    FOR waiting IN SELECT id FROM outbox_events WHERE status = 'PENDING' ORDER BY id LOOP
        PERFORM outbox_take_event(waiting);
    END LOOP;
END
$$;
-- At the commit: an ORM updates the row that it has inserted, all columns of it, and the message is what was committed.
DROP TRIGGER IF EXISTS outbox_take_event ON outbox_events;
CREATE CONSTRAINT TRIGGER outbox_take_event AFTER INSERT ON outbox_events DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.status = 'PENDING') EXECUTE FUNCTION outbox_take_event();
