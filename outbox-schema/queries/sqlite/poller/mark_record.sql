-- A delivery that was fenced is recorded once, however often its mark is repeated.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms,
                            outcome, status_code, error, excerpt)
SELECT m.value ->> 'id', m.value ->> 'number', m.value ->> 'epoch', m.value ->> 'holder', c.claimed_at,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - (m.value ->> 'started_ms'), m.value ->> 'duration_ms',
       m.value ->> 'outcome', m.value ->> 'status_code', m.value ->> 'error', m.value ->> 'excerpt'
FROM json_each(?1) AS m LEFT JOIN outbox_claim c ON c.id = m.value ->> 'claim'
WHERE m.value ->> 'outcome' <> 'delivered_fenced' OR NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.value ->> 'id' AND a.epoch = m.value ->> 'epoch'
    AND a.holder = m.value ->> 'holder' AND a.number = m.value ->> 'number' AND a.outcome = m.value ->> 'outcome')
