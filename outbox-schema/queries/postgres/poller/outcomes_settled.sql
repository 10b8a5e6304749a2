-- Rows in doubt that were settled, and are dead.
SELECT o.id, o.revision, o.channel, o.dead_reason
FROM json_array_elements_text($1::json) AS settled(id) JOIN outbox o ON o.id = settled.id::bigint
WHERE o.status = 'DEAD'
