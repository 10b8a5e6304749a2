-- Those of the asked that were replayed before, unless that was taken back.
SELECT a.message_id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a ON a.message_id = asked.id
WHERE a.action = 'replay'
  AND NOT EXISTS (SELECT 1 FROM outbox_audit taken_back
                  WHERE taken_back.message_id = a.message_id AND taken_back.id > a.id AND taken_back.action = 'undo'
                    AND JSON_VALUE(taken_back.details, '$.replay') = JSON_VALUE(a.details, '$.replay'))
