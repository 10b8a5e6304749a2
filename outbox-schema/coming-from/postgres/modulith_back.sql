-- Back from this outbox to Spring Modulith's registry, on PostgreSQL: new publications make no messages any more, and the
-- messages that were not sent are taken back: their publications are incomplete again, for the former listener.
-- docs/coming-from.md has the order of the steps. As who ran modulith.sql, with the dispatcher stopped, when only processes
-- with the former listeners run:
--   psql -1 -v ON_ERROR_STOP=1 -f modulith_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

DROP TRIGGER outbox_take_modulith ON event_publication;

-- Leave this statement out to have the dispatcher send what waits, until `outbox status` counts nothing. Two kinds of messages
-- are not taken back, and wait for it: those that may be on their way, because a poller claimed them and crashed, and those
-- whose publication is gone (completion-mode delete or archive).
DO $$
DECLARE
    message record;
    -- 2.x has it, 1.x does not.
    has_status CONSTANT boolean := EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'event_publication'::regclass AND attname = 'status' AND NOT attisdropped);
BEGIN
    FOR message IN
        SELECT e.id, o.idempotency_key, coalesce(r.former_id, r.listener_id) AS listener_id
        FROM outbox o JOIN outbox_from_modulith m ON m.idempotency_key = o.idempotency_key
            JOIN event_publication e ON e.id = m.source_id
            JOIN event_publication_route r ON e.listener_id IN (r.listener_id, r.former_id)
        WHERE o.status = 'PENDING' ORDER BY o.id
    LOOP
        IF outbox_cancel(message.idempotency_key, 'back to event_publication') THEN
            -- So that the key is free: the publication may come again.
            DELETE FROM outbox WHERE idempotency_key = message.idempotency_key;
            UPDATE event_publication SET completion_date = NULL, listener_id = message.listener_id WHERE id = message.id;
            IF has_status THEN
                UPDATE event_publication SET status = 'FAILED' WHERE id = message.id;
            END IF;
        END IF;
    END LOOP;
END
$$;

DROP FUNCTION outbox_take_modulith(), outbox_take_modulith(uuid);
DROP VIEW outbox_from_modulith;
DROP TABLE event_publication_route;
