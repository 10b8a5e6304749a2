-- Due now. Attempts and age stay: they go on.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.available_at = UTC_TIMESTAMP(6), o.revision = o.revision + 1
