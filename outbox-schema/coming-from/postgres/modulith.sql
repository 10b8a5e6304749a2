-- From Spring Modulith's event publication registry to this outbox, on PostgreSQL, for its tables of 1.x and of 2.x: a trigger
-- makes each publication for a listener that has a route a message, in the transaction of the application.
-- docs/coming-from.md has the order of the steps.
-- Yours are the routes, where you want one the ordering key, and `without_message`: whether a publication without a message stays
-- without one or fails the insert. After `outbox migrate`, as the owner of the outbox's tables, who is no superuser and has the rights
-- of your table's owner (GRANT shop TO outbox_owner):
--   psql -1 -v ON_ERROR_STOP=1 -f modulith.sql DATABASE
-- It is one transaction, and can be run again.

SET LOCAL lock_timeout = '5s';

-- Where the publications of a listener go. listener_id is the id of the listener that does nothing any more, former_id that of
-- the listener which sent by itself, and sends until its last process is gone.
CREATE TABLE IF NOT EXISTS event_publication_route (
    listener_id text PRIMARY KEY,
    former_id   text UNIQUE,
    channel     varchar(64) NOT NULL,
    target      text NOT NULL
);
INSERT INTO event_publication_route (listener_id, former_id, channel, target) VALUES
    ('order-webhook', 'shop.Webhooks.on(shop.OrderPlaced)', 'http', '/hooks/orders')
ON CONFLICT (listener_id) DO UPDATE
    SET former_id = excluded.former_id, channel = excluded.channel, target = excluded.target;

-- What becomes of each publication. For an order among messages, a property of the event as the ordering key:
-- e.serialized_event::jsonb ->> 'orderId'.
CREATE OR REPLACE VIEW outbox_from_modulith AS
    SELECT e.id AS source_id,
           e.id::text AS idempotency_key,
           r.channel,
           r.target,
           e.serialized_event::jsonb AS payload,
           jsonb_build_object('X-Event-Type', e.event_type) AS headers,
           NULL::varchar AS ordering_key
    FROM event_publication e LEFT JOIN event_publication_route r ON e.listener_id IN (r.listener_id, r.former_id);

-- Makes a publication a message, or several where the view gives several.
CREATE OR REPLACE FUNCTION outbox_take_modulith(p_id uuid) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    -- Or 'stays': what becomes of a publication that has a route, and of which the view makes no message. A new one is then not sent at
    -- all, since its listener does nothing; one of a former listener stays incomplete.
    without_message CONSTANT text := 'fails';
    messages        outbox_from_modulith[];
    message         outbox_from_modulith;
BEGIN
    -- What can fail is caught where nothing is written: such a block costs no transaction id.
    BEGIN
        SELECT array_agg(m) INTO messages FROM outbox_from_modulith m WHERE m.source_id = p_id;
    EXCEPTION WHEN OTHERS THEN
        RAISE EXCEPTION USING ERRCODE = SQLSTATE,
            MESSAGE = format('row %s of event_publication cannot become a message: %s', p_id, SQLERRM),
            HINT = 'The view outbox_from_modulith makes the message.';
    END;
    IF messages IS NULL AND without_message = 'fails' THEN
        RAISE EXCEPTION USING
            MESSAGE = format('row %s of event_publication cannot become a message: the view makes none of it', p_id),
            HINT = 'The view outbox_from_modulith makes the message.';
    END IF;
    FOREACH message IN ARRAY coalesce(messages, '{}') LOOP
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key)
        VALUES (message.idempotency_key, message.channel, message.target, message.payload, message.headers, message.ordering_key)
        ON CONFLICT (idempotency_key) DO NOTHING;
    END LOOP;
END
$$;

-- It acts with the rights of whoever runs this file, so the application needs no new right. It finds tables by this path
-- alone: add the schema of the outbox's tables where that is another.
CREATE OR REPLACE FUNCTION outbox_take_modulith() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM event_publication_route WHERE listener_id = NEW.listener_id) THEN
        PERFORM outbox_take_modulith(NEW.id);
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION outbox_take_modulith(uuid), outbox_take_modulith() FROM PUBLIC;

-- At the insert: Modulith updates no event that it has written, so the message is what is committed.
DROP TRIGGER IF EXISTS outbox_take_modulith ON event_publication;
CREATE TRIGGER outbox_take_modulith AFTER INSERT ON event_publication
    FOR EACH ROW WHEN (NEW.completion_date IS NULL) EXECUTE FUNCTION outbox_take_modulith();
