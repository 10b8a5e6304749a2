-- Of the entries of a replay, those whose row waits as the replay wrote it: no attempt, and nobody's hand, since. With the row, and
-- the message that it repeats.
SELECT a.id, o.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = CAST(a.details ->> 'replay' AS INTEGER)
WHERE a.id IN (SELECT value FROM json_each(?1))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = o.id)
