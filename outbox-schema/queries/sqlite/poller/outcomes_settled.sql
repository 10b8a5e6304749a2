-- Rows in doubt that were settled, and are dead.
SELECT o.id, o.revision, o.channel, o.dead_reason
FROM json_each(?1) AS settled JOIN outbox o ON o.id = settled.value
WHERE o.status = 'DEAD'
