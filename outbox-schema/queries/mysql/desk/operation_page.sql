SELECT id, message_id FROM outbox_audit WHERE part_of = ? AND id > ? ORDER BY id LIMIT ?
