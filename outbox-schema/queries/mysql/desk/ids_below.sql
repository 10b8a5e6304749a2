-- Down the primary key.
SELECT id FROM outbox FORCE INDEX (PRIMARY) WHERE id < ? ORDER BY id DESC LIMIT ?
