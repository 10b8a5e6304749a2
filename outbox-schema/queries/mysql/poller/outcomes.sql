-- The messages that tell of outcomes, in the transaction that writes these. A repeated mark finds the key, and adds nothing. Only a
-- row with a revision may have such a key, and no application writes one. No outcome is told of an outcome, whatever the settings of
-- another replica say. Tags that no check of MariaDB has seen may be no JSON, and are left out.
INSERT INTO outbox (idempotency_key, channel, target, payload, tenant, shard, revision)
SELECT CONCAT('outcome:', meta.outbox_id, ':', o.id, ':', o.revision), told.channel, told.target,
       JSON_OBJECT(
           'id', o.id, 'idempotency_key', o.idempotency_key, 'channel', o.channel, 'destination', o.destination,
           'status', o.status, 'reason', o.dead_reason, 'error', told.error, 'status_code', o.last_status_code,
           'attempts', o.attempts,
           'at', CONCAT(LEFT(DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z'),
           'tenant', o.tenant, 'tags', JSON_EXTRACT(IF(JSON_VALID(o.tags), o.tags, NULL), '$'), 'replay_of', o.replay_of),
       o.tenant, o.shard, 1
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', revision integer PATH '$.revision', status varchar(16) CHARACTER SET utf8mb4 PATH '$.status',
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason', error text CHARACTER SET utf8mb4 PATH '$.error',
    channel text CHARACTER SET utf8mb4 PATH '$.channel', target longtext CHARACTER SET utf8mb4 PATH '$.target')) told
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = told.id AND o.revision = told.revision AND o.status = told.status
                      AND o.dead_reason <=> told.dead_reason
CROSS JOIN outbox_meta meta
WHERE o.idempotency_key NOT LIKE 'outcome:________-____-____-____-____________:%'
ORDER BY o.id
ON DUPLICATE KEY UPDATE idempotency_key = VALUES(idempotency_key)
