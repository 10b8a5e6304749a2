-- Of the marks that were refused, those that find the row elsewhere than where they would have put it. A mark that
-- finds its own effect, and its attempt where it records one, is a repeated mark, not a fenced one.
SELECT m.value ->> 'id' AS id FROM json_each(?1) AS m LEFT JOIN outbox o ON o.id = m.value ->> 'id'
WHERE o.id IS NULL OR o.revision <> (m.value ->> 'revision') + 1 OR o.status <> m.value ->> 'status'
   OR (m.value ->> 'record' AND NOT EXISTS (
        SELECT 1 FROM outbox_attempt a WHERE a.message_id = o.id AND a.epoch = m.value ->> 'epoch'
        AND a.holder = m.value ->> 'holder' AND a.number = m.value ->> 'number' AND a.outcome = m.value ->> 'outcome'))
