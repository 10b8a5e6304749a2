-- Of the entries of a redrive, those whose message waits as the redrive left it: no attempt, and nobody's hand, since.
SELECT a.id, a.message_id
FROM outbox_audit a JOIN outbox o ON o.id = a.message_id
WHERE a.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = a.message_id AND later.id > a.id)
