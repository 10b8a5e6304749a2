-- Deliveries that could not be marked, each once.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms, outcome, error)
SELECT m.value ->> 'id', m.value ->> 'number', m.value ->> 'epoch', m.value ->> 'holder', c.claimed_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - (m.value ->> 'started_ms'), m.value ->> 'duration_ms',
       'delivered_unmarked', m.value ->> 'error'
FROM json_each(?1) AS m LEFT JOIN outbox_claim c ON c.id = m.value ->> 'claim'
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.value ->> 'id' AND a.epoch = m.value ->> 'epoch'
    AND a.holder = m.value ->> 'holder' AND a.number = m.value ->> 'number' AND a.outcome = 'delivered_unmarked')
