SELECT status FROM outbox WHERE id = $1
