-- They stay dead letters. Receivers refuse a key with another body, so each gets a new one.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', idempotency_key varchar(255) CHARACTER SET utf8mb4 PATH '$.key',
                                        target longtext PATH '$.target', headers longtext PATH '$.headers')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.sent_key = IF(o.idempotency_key = asked.idempotency_key, o.sent_key, NULL), o.idempotency_key = asked.idempotency_key, o.target = asked.target, o.headers = asked.headers, o.revision = o.revision + 1
