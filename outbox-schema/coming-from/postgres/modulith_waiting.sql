-- The publications that the former listeners left behind become messages, on PostgreSQL, and are completed in the registry.
-- As who ran modulith.sql, when no process of the application with the former listeners runs any more:
--   psql -1 -v ON_ERROR_STOP=1 -f modulith_waiting.sql DATABASE
-- It can be run again.

DO $$
DECLARE
    waiting uuid;
    -- 2.x has it, 1.x does not.
    has_status CONSTANT boolean := EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'event_publication'::regclass AND attname = 'status' AND NOT attisdropped);
BEGIN
    FOR waiting IN
        SELECT e.id FROM event_publication e JOIN event_publication_route r ON r.former_id = e.listener_id
        WHERE e.completion_date IS NULL ORDER BY e.publication_date, e.id FOR UPDATE OF e
    LOOP
        PERFORM outbox_take_modulith(waiting);
        -- One without a message stays as it is, where modulith.sql lets it.
        UPDATE event_publication SET completion_date = now() WHERE id = waiting AND EXISTS (
            SELECT FROM outbox_from_modulith m JOIN outbox o ON o.idempotency_key = m.idempotency_key WHERE m.source_id = waiting);
        IF FOUND AND has_status THEN
            UPDATE event_publication SET status = 'COMPLETED' WHERE id = waiting;
        END IF;
    END LOOP;
END
$$;
