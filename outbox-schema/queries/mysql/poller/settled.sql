-- Of these rows, those that were settled, where no later attempt is on record.
SELECT o.id AS message_id, o.destination, a.error = ?2 AS crashed, o.status = 'PENDING' AS resend
FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status IN ('PENDING', 'DEAD')
STRAIGHT_JOIN outbox_attempt a FORCE INDEX (outbox_attempt_message) ON a.message_id = o.id AND a.outcome = 'in_doubt' AND a.error IN (?2, ?3)
WHERE NOT EXISTS (SELECT 1 FROM outbox_attempt later WHERE later.message_id = o.id AND later.id > a.id)
ORDER BY o.id
