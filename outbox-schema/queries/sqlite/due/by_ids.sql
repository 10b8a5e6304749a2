-- Rows by their ids.
FROM json_each(?1) asked CROSS JOIN outbox o ON o.id = asked.value
