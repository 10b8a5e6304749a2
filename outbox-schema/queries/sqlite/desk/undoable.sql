-- Of the entries of a redrive, those whose message waits as the redrive left it: no attempt, and nobody's hand, since.
SELECT a.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = a.message_id
WHERE a.id IN (SELECT value FROM json_each(?1))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = a.message_id AND later.id > a.id)
