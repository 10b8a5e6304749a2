-- What a check would have refused becomes the nearest priority that there is.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS odd STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = odd.id
SET o.priority = LEAST(GREATEST(o.priority, 0), 3)
