-- Of these rows, those that were settled, where no later attempt is on record.
SELECT o.id AS message_id, o.destination, a.error = $2 AS crashed, o.status = 'PENDING' AS resend
FROM json_array_elements_text($1::json) AS asked(id)
JOIN outbox o ON o.id = asked.id::bigint AND o.status IN ('PENDING', 'DEAD')
JOIN outbox_attempt a ON a.message_id = o.id AND a.outcome = 'in_doubt' AND a.error IN ($2, $3)
WHERE NOT EXISTS (SELECT 1 FROM outbox_attempt later WHERE later.message_id = o.id AND later.id > a.id)
ORDER BY o.id
