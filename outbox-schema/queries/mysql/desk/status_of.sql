SELECT status FROM outbox WHERE id = ?
