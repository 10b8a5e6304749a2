-- Those of the asked that are there, whoever holds them.
SELECT o.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
