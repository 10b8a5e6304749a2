-- The message that had a key before it was edited, by the newest of as many entries. No index has the keys of former days.
SELECT a.message_id
FROM (SELECT id, action, message_id, details FROM outbox_audit ORDER BY id DESC LIMIT ?2) a
WHERE a.action = 'edit' AND a.message_id IS NOT NULL AND a.details ->> 'idempotency_key' = ?1
ORDER BY a.id DESC LIMIT 1
