-- The entries of a replay, each with the row that repeats its message.
SELECT id, (details ->> 'replay')::bigint FROM outbox_audit WHERE part_of = $1 AND id > $2 ORDER BY id LIMIT $3
