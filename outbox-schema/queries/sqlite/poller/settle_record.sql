INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, outcome, error)
SELECT d.value ->> 'message_id', d.value ->> 'number', c.epoch, c.holder, c.claimed_at, 'in_doubt',
       d.value ->> 'explanation'
FROM json_each(?1) AS d JOIN outbox_claim c ON c.id = d.value ->> 'claim'
ORDER BY d.value ->> 'message_id'
