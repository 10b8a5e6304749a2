-- Due again when they were. Assignments are made from left to right: available_at reads deferred_from.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.available_at = o.deferred_from, o.deferred_from = NULL
