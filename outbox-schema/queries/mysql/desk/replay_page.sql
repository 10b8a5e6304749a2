-- The entries of a replay, each with the row that repeats its message.
SELECT id, CAST(JSON_VALUE(details, '$.replay') AS SIGNED) FROM outbox_audit WHERE part_of = ? AND id > ? ORDER BY id LIMIT ?
