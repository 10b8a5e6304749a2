-- Those of the asked that are there, whoever holds them.
SELECT id FROM outbox WHERE id IN (SELECT value FROM json_each(?1))
