DELETE FROM outbox_replica WHERE id = ?1
