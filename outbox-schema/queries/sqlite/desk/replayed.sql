-- Those of the asked that were replayed before, unless that was taken back.
SELECT a.message_id FROM outbox_audit a
WHERE a.message_id IN (SELECT value FROM json_each(?1)) AND a.action = 'replay'
  AND NOT EXISTS (SELECT 1 FROM outbox_audit undo
                  WHERE undo.message_id = a.message_id AND undo.id > a.id AND undo.action = 'undo'
                    AND undo.details ->> 'replay' = a.details ->> 'replay')
