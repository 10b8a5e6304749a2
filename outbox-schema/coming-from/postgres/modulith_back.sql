-- Back from this outbox to Spring Modulith's registry, on PostgreSQL: new publications make no messages any more, and the
-- messages that were not sent are taken back: their publications are incomplete again, for the former listener.
-- docs/coming-from.md has the order of the steps. As who ran modulith.sql, with the dispatcher stopped, when only processes
-- with the former listeners run:
--   psql -1 -v ON_ERROR_STOP=1 -f modulith_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

DROP TRIGGER outbox_take_modulith ON event_publication;

-- Leave this statement out to have the dispatcher send what waits, until `outbox status` counts nothing. Three kinds of messages
-- are not taken back, and wait for it: those that may be on their way, because a poller claimed them and crashed, those whose
-- publication is gone (completion-mode delete or archive), and those of a publication of several messages of which another was
-- sent: the publication would be sent as a whole.
DO $$
DECLARE
    source record;
    key    varchar;
    -- 2.x has it, 1.x does not.
    has_status CONSTANT boolean := EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'event_publication'::regclass AND attname = 'status' AND NOT attisdropped);
BEGIN
    FOR source IN
        SELECT m.source_id AS id, array_agg(o.idempotency_key) AS keys
        FROM outbox_from_modulith m LEFT JOIN outbox o ON o.idempotency_key = m.idempotency_key
        GROUP BY m.source_id HAVING bool_and(o.status IS NOT DISTINCT FROM 'PENDING') ORDER BY min(o.id)
    LOOP
        BEGIN
            FOREACH key IN ARRAY source.keys LOOP
                IF NOT outbox_cancel(key, 'back to event_publication') THEN
                    RAISE EXCEPTION USING ERRCODE = 'OB004';
                END IF;
            END LOOP;
            -- So that the keys are free: the publication may come again.
            DELETE FROM outbox WHERE idempotency_key = ANY (source.keys);
            UPDATE event_publication e SET completion_date = NULL, listener_id = coalesce(r.former_id, r.listener_id)
            FROM event_publication_route r WHERE e.id = source.id AND e.listener_id IN (r.listener_id, r.former_id);
            IF has_status THEN
                UPDATE event_publication SET status = 'FAILED' WHERE id = source.id;
            END IF;
        EXCEPTION WHEN SQLSTATE 'OB004' THEN
            NULL; -- as a whole, or not at all
        END;
    END LOOP;
END
$$;

DROP FUNCTION outbox_take_modulith(), outbox_take_modulith(uuid);
DROP VIEW outbox_from_modulith;
DROP TABLE event_publication_route;
