-- From namastack-outbox to this outbox, on PostgreSQL: a trigger makes each new record of a handler that has a route a message,
-- in the transaction of the application, and the records that wait become messages here. docs/coming-from.md has the order
-- of the steps.
-- Yours are the routes, and `without_message`: whether a record without a message stays with namastack-outbox or fails the commit.
-- After `outbox migrate`, with the application stopped or its records all processed, as the owner of the
-- outbox's tables, who is no superuser and has the rights of your table's owner (GRANT shop TO outbox_owner):
--   psql -1 -v ON_ERROR_STOP=1 -f namastack.sql DATABASE
-- It is one transaction, and can be run again.

SET LOCAL lock_timeout = '5s';

-- Where the records of a handler go. Records of a handler without a route stay with namastack-outbox.
CREATE TABLE IF NOT EXISTS outbox_record_route (
    handler_id varchar(1000) PRIMARY KEY,
    channel    varchar(64) NOT NULL,
    target     text NOT NULL
);
INSERT INTO outbox_record_route (handler_id, channel, target) VALUES
    ('shop.OrderHandler#handle(shop.OrderPlaced)',    'http', '/hooks/orders'),
    ('shop.ParcelHandler#handle(shop.OrderShipped)', 'http', '/hooks/shipments')
ON CONFLICT (handler_id) DO UPDATE SET channel = excluded.channel, target = excluded.target;

-- What becomes of each record. The key of a record without one is its id.
CREATE OR REPLACE VIEW outbox_from_namastack AS
    SELECT e.id AS source_id,
           e.id AS idempotency_key,
           r.channel,
           r.target,
           e.payload::jsonb AS payload,
           jsonb_build_object('X-Record-Type', e.record_type) AS headers,
           nullif(e.record_key, e.id) AS ordering_key,
           e.context::jsonb ->> 'traceparent' AS traceparent,
           e.context::jsonb ->> 'tracestate' AS tracestate
    FROM outbox_record e LEFT JOIN outbox_record_route r USING (handler_id);

-- Makes a record a message, or several where the view gives several.
-- The record is completed, so no process finds it any more.
CREATE OR REPLACE FUNCTION outbox_take_record(p_id varchar) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    -- Or 'stays': what becomes of a record that has a route, and of which the view makes no message.
    without_message CONSTANT text := 'fails';
    messages        outbox_from_namastack[];
    message         outbox_from_namastack;
BEGIN
    -- What can fail is caught where nothing is written: such a block costs no transaction id.
    BEGIN
        SELECT array_agg(m) INTO messages FROM outbox_from_namastack m WHERE m.source_id = p_id;
    EXCEPTION WHEN OTHERS THEN
        RAISE EXCEPTION USING ERRCODE = SQLSTATE,
            MESSAGE = format('row %s of outbox_record cannot become a message: %s', p_id, SQLERRM),
            HINT = 'The view outbox_from_namastack makes the message.';
    END;
    IF messages IS NULL AND without_message = 'fails' AND EXISTS (
        SELECT FROM outbox_record e JOIN outbox_record_route USING (handler_id) WHERE e.id = p_id)
    THEN
        RAISE EXCEPTION USING
            MESSAGE = format('row %s of outbox_record cannot become a message: the view makes none of it', p_id),
            HINT = 'The view outbox_from_namastack makes the message.';
    END IF;
    FOREACH message IN ARRAY coalesce(messages, '{}') LOOP
        CONTINUE WHEN message.channel IS NULL;
        INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, traceparent, tracestate)
        VALUES (message.idempotency_key, message.channel, message.target, message.payload, message.headers,
                message.ordering_key, message.traceparent, message.tracestate)
        ON CONFLICT (idempotency_key) DO NOTHING;
        UPDATE outbox_record SET status = 'COMPLETED', completed_at = now() WHERE id = p_id;
    END LOOP;
END
$$;

-- It acts with the rights of whoever runs this file, so the application needs no new right. It finds tables by this path
-- alone: add the schema of the outbox's tables where that is another.
CREATE OR REPLACE FUNCTION outbox_take_record() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM outbox_record WHERE id = NEW.id AND status = 'NEW') THEN
        PERFORM outbox_take_record(NEW.id);
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION outbox_take_record(varchar), outbox_take_record() FROM PUBLIC;

-- Waits for open transactions that write the table, and keeps out others until this one ends: each record is met by the
-- statement or by the trigger.
LOCK TABLE outbox_record IN SHARE ROW EXCLUSIVE MODE;
DO $$
DECLARE
    waiting varchar;
BEGIN
    FOR waiting IN SELECT id FROM outbox_record WHERE status = 'NEW' ORDER BY created_at, id LOOP
        PERFORM outbox_take_record(waiting);
    END LOOP;
END
$$;
-- At the commit: an ORM updates the record that it has inserted, all columns of it, and the message is what was committed.
DROP TRIGGER IF EXISTS outbox_take_record ON outbox_record;
CREATE CONSTRAINT TRIGGER outbox_take_record AFTER INSERT ON outbox_record DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.status = 'NEW') EXECUTE FUNCTION outbox_take_record();
