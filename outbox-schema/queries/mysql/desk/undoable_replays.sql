-- Of the entries of a replay, those whose row waits as the replay wrote it: no attempt, and nobody's hand, since. With the row, and
-- the message that it repeats.
SELECT a.id, o.id, a.message_id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = asked.id
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = CAST(JSON_VALUE(a.details, '$.replay') AS SIGNED)
WHERE 1 = 1
  AND o.status = 'PENDING' AND o.attempts = 0 AND o.first_attempt_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_audit later WHERE later.message_id = o.id)
