-- Back from this outbox to a home-made outbox table, on PostgreSQL: new rows wait for the old publisher again, and the messages
-- that were not sent are taken back. docs/coming-from.md has the order of the steps.
-- As who ran home_made.sql, with the dispatcher stopped and the old publisher not yet started:
--   psql -1 -v ON_ERROR_STOP=1 -f home_made_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

DROP TRIGGER outbox_take_event ON outbox_events;

-- Leave this statement out to have the dispatcher send what waits, until `outbox status` counts nothing. A message that may be
-- on its way, because a poller claimed it and crashed, is not taken back: only the dispatcher can tell. Nor is one of a row
-- of several messages of which another was sent: the row would be sent as a whole.
DO $$
DECLARE
    source record;
    key    varchar;
BEGIN
    FOR source IN
        SELECT m.source_id AS id, array_agg(o.idempotency_key) AS keys
        FROM outbox_from_events m LEFT JOIN outbox o ON o.idempotency_key = m.idempotency_key
        GROUP BY m.source_id HAVING bool_and(o.status IS NOT DISTINCT FROM 'PENDING') ORDER BY min(o.id)
    LOOP
        BEGIN
            FOREACH key IN ARRAY source.keys LOOP
                IF NOT outbox_cancel(key, 'back to outbox_events') THEN
                    RAISE EXCEPTION USING ERRCODE = 'OB004';
                END IF;
            END LOOP;
            -- So that the keys are free: the row may come again.
            DELETE FROM outbox WHERE idempotency_key = ANY (source.keys);
            UPDATE outbox_events SET status = 'PENDING', sent_at = NULL WHERE id = source.id;
        EXCEPTION WHEN SQLSTATE 'OB004' THEN
            NULL; -- as a whole, or not at all
        END;
    END LOOP;
END
$$;

-- Dead letters were not sent, and the table says so. Those that somebody cancelled were not meant to be.
UPDATE outbox_events e SET status = 'FAILED', sent_at = NULL
FROM (SELECT m.source_id FROM outbox o JOIN outbox_from_events m ON m.idempotency_key = o.idempotency_key
      GROUP BY m.source_id HAVING bool_and(o.status = 'DEAD') AND bool_or(o.dead_reason <> 'cancelled')) dead
WHERE dead.source_id = e.id;

DROP FUNCTION outbox_take_event(), outbox_take_event(bigint);
DROP VIEW outbox_from_events;
DROP TABLE outbox_events_route;
