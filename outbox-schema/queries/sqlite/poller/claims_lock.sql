SELECT id FROM outbox_claim WHERE id IN (SELECT value FROM json_each(?1))
