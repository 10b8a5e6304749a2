-- Those of the asked that are there. BEGIN IMMEDIATE has locked them.
SELECT id, status FROM outbox WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id
