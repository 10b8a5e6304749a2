INSERT INTO outbox_audit (who, action, why, message_id, details)
VALUES (?1, ?2, ?3, ?4, ?5)
RETURNING id
