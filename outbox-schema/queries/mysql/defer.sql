-- Where rows are updated in place, assignments are made from left to right: deferred_from reads what available_at was.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) met
STRAIGHT_JOIN outbox o ON o.id = met.id AND o.status = 'PENDING'
SET o.deferred_from = COALESCE(o.deferred_from, o.available_at),
    o.available_at = UTC_TIMESTAMP(6) + INTERVAL 1000 * COALESCE(
        (SELECT MAX(p.ms) FROM JSON_TABLE(?, '$[*]' COLUMNS (
             destination varchar(255) CHARACTER SET utf8mb4 PATH '$.destination', ms bigint PATH '$.ms')) p
         WHERE p.destination IN (o.destination, o.channel)), ?) MICROSECOND
