-- Deliveries that could not be marked, each once. It asks for no right to `outbox` itself: that may be what is missing.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms, outcome, error)
SELECT m.id, m.number, m.epoch, m.holder, c.claimed_at, clock_timestamp() - m.started_ms * interval '1 ms', m.duration_ms,
       'delivered_unmarked', m.error
FROM jsonb_to_recordset($1::jsonb) AS m (claim uuid, id bigint, number integer, epoch bigint, holder varchar(255),
                                         started_ms bigint, duration_ms bigint, error text)
LEFT JOIN outbox_claim c ON c.id = m.claim
WHERE NOT EXISTS (
    SELECT FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
    AND a.holder = m.holder AND a.number = m.number AND a.outcome = 'delivered_unmarked')
