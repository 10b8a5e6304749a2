-- Back from this outbox to namastack-outbox, on PostgreSQL: new records wait for their handlers again, and the messages that
-- were not sent are taken back. docs/coming-from.md has the order of the steps. As who ran namastack.sql, with the dispatcher
-- stopped:
--   psql -1 -v ON_ERROR_STOP=1 -f namastack_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

DROP TRIGGER outbox_take_record ON outbox_record;

-- Leave this statement out to have the dispatcher send what waits, until `outbox status` counts nothing. A message that may be
-- on its way, because a poller claimed it and crashed, is not taken back: only the dispatcher can tell.
DO $$
DECLARE
    message record;
BEGIN
    FOR message IN
        SELECT m.source_id, o.idempotency_key
        FROM outbox o JOIN outbox_from_namastack m ON m.idempotency_key = o.idempotency_key
        WHERE o.status = 'PENDING' ORDER BY o.id
    LOOP
        IF outbox_cancel(message.idempotency_key, 'back to outbox_record') THEN
            -- So that the key is free: the record may come again.
            DELETE FROM outbox WHERE idempotency_key = message.idempotency_key;
            UPDATE outbox_record SET status = 'NEW', completed_at = NULL, failure_count = 0, next_retry_at = created_at
            WHERE id = message.source_id;
        END IF;
    END LOOP;
END
$$;

-- Dead letters were not sent, and the table says so. Those that somebody cancelled were not meant to be.
UPDATE outbox_record e SET status = 'FAILED', completed_at = NULL, failure_reason = left(o.last_error, 1000)
FROM outbox o JOIN outbox_from_namastack m ON m.idempotency_key = o.idempotency_key
WHERE m.source_id = e.id AND o.status = 'DEAD' AND o.dead_reason <> 'cancelled';

DROP FUNCTION outbox_take_record(), outbox_take_record(varchar);
DROP VIEW outbox_from_namastack;
DROP TABLE outbox_record_route;
