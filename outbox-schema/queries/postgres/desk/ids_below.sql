-- Down the primary key.
SELECT id FROM outbox WHERE id < $1 ORDER BY id DESC LIMIT $2
