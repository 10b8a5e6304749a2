-- Rows in doubt that were settled, and are dead.
SELECT o.id, o.revision, o.channel, o.dead_reason
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) settled STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = settled.id
WHERE o.status = 'DEAD'
