-- Where rows are updated in place, assignments are made from left to right: deferred_from reads what available_at was.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', ms bigint PATH '$.ms')) put
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = put.id AND o.status = 'PENDING'
SET o.deferred_from = COALESCE(o.deferred_from, o.available_at),
    o.available_at = UTC_TIMESTAMP(6) + INTERVAL 1000 * put.ms MICROSECOND
