-- Of the entries of a replay, those whose row waits as the replay wrote it: no attempt, and nobody's hand, since. With the row, and
-- the message that it repeats.
SELECT a.id, o.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = (a.details ->> 'replay')::bigint
WHERE a.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = o.id)
