SELECT id, message_id FROM outbox_audit WHERE part_of = ?1 AND id > ?2 ORDER BY id LIMIT ?3
