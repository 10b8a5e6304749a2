-- Rows by their ids.
FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
