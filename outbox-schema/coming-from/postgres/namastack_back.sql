-- Back from this outbox to namastack-outbox, on PostgreSQL: new records wait for their handlers again, and the messages that
-- were not sent are taken back. docs/coming-from.md has the order of the steps. As who ran namastack.sql, with the dispatcher
-- stopped:
--   psql -1 -v ON_ERROR_STOP=1 -f namastack_back.sql DATABASE

SET LOCAL lock_timeout = '5s';

DROP TRIGGER outbox_take_record ON outbox_record;

-- Leave this statement out to have the dispatcher send what waits, until `outbox status` counts nothing. A message that may be
-- on its way, because a poller claimed it and crashed, is not taken back: only the dispatcher can tell. Nor is one of a record
-- of several messages of which another was sent: the record would be sent as a whole.
DO $$
DECLARE
    source record;
    key    varchar;
BEGIN
    FOR source IN
        SELECT m.source_id AS id, array_agg(o.idempotency_key) AS keys
        FROM outbox_from_namastack m LEFT JOIN outbox o ON o.idempotency_key = m.idempotency_key
        GROUP BY m.source_id HAVING bool_and(o.status IS NOT DISTINCT FROM 'PENDING') ORDER BY min(o.id)
    LOOP
        BEGIN
            FOREACH key IN ARRAY source.keys LOOP
                IF NOT outbox_cancel(key, 'back to outbox_record') THEN
                    RAISE EXCEPTION USING ERRCODE = 'OB004';
                END IF;
            END LOOP;
            -- So that the keys are free: the record may come again.
            DELETE FROM outbox WHERE idempotency_key = ANY (source.keys);
            UPDATE outbox_record SET status = 'NEW', completed_at = NULL, failure_count = 0, next_retry_at = created_at
            WHERE id = source.id;
        EXCEPTION WHEN SQLSTATE 'OB004' THEN
            NULL; -- as a whole, or not at all
        END;
    END LOOP;
END
$$;

-- Dead letters were not sent, and the table says so. Those that somebody cancelled were not meant to be.
UPDATE outbox_record e SET status = 'FAILED', completed_at = NULL, failure_reason = left(dead.error, 1000)
FROM (SELECT m.source_id, max(o.last_error) AS error FROM outbox o JOIN outbox_from_namastack m ON m.idempotency_key = o.idempotency_key
      GROUP BY m.source_id HAVING bool_and(o.status = 'DEAD') AND bool_or(o.dead_reason <> 'cancelled')) dead
WHERE dead.source_id = e.id;

DROP FUNCTION outbox_take_record(), outbox_take_record(varchar);
DROP VIEW outbox_from_namastack;
DROP TABLE outbox_record_route;
