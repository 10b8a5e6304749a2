-- Back from this outbox to a home-made outbox table, on PostgreSQL: new rows wait for the old publisher again, and the messages
-- that were not sent are taken back. docs/coming-from.md has the order of the steps.
-- As who ran home_made.sql, with the dispatcher stopped and the old publisher not yet started:
--   psql -1 -v ON_ERROR_STOP=1 -f home_made_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

DROP TRIGGER outbox_take_event ON outbox_events;

-- Leave this statement out to have the dispatcher send what waits, until `outbox status` counts nothing. A message that may be
-- on its way, because a poller claimed it and crashed, is not taken back: only the dispatcher can tell.
DO $$
DECLARE
    message record;
BEGIN
    FOR message IN
        SELECT m.source_id, o.idempotency_key
        FROM outbox o JOIN outbox_from_events m ON m.idempotency_key = o.idempotency_key
        WHERE o.status = 'PENDING' ORDER BY o.id
    LOOP
        IF outbox_cancel(message.idempotency_key, 'back to outbox_events') THEN
            -- So that the key is free: the row may come again.
            DELETE FROM outbox WHERE idempotency_key = message.idempotency_key;
            UPDATE outbox_events SET status = 'PENDING', sent_at = NULL WHERE id = message.source_id;
        END IF;
    END LOOP;
END
$$;

-- Dead letters were not sent, and the table says so. Those that somebody cancelled were not meant to be.
UPDATE outbox_events e SET status = 'FAILED', sent_at = NULL
FROM outbox o JOIN outbox_from_events m ON m.idempotency_key = o.idempotency_key
WHERE m.source_id = e.id AND o.status = 'DEAD' AND o.dead_reason <> 'cancelled';

DROP FUNCTION outbox_take_event(), outbox_take_event(bigint);
DROP VIEW outbox_from_events;
DROP TABLE outbox_events_route;
