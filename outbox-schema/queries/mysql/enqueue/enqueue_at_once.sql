-- The same for messages that say no time: it needs no right to write one.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts, traceparent,
                    tracestate, tenant, tags)
SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key, m.priority, m.max_attempts,
       m.traceparent, m.tracestate, m.tenant, m.tags
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    place FOR ORDINALITY,
    idempotency_key varchar(255) CHARACTER SET utf8mb4 PATH '$.idempotency_key',
    channel varchar(64) CHARACTER SET utf8mb4 PATH '$.channel',
    target longtext CHARACTER SET utf8mb4 PATH '$.target',
    payload longtext CHARACTER SET utf8mb4 PATH '$.payload',
    headers longtext CHARACTER SET utf8mb4 PATH '$.headers',
    ordering_key varchar(255) CHARACTER SET utf8mb4 PATH '$.ordering_key',
    priority smallint PATH '$.priority',
    max_attempts smallint PATH '$.max_attempts',
    traceparent varchar(64) CHARACTER SET utf8mb4 PATH '$.traceparent',
    tracestate varchar(512) CHARACTER SET utf8mb4 PATH '$.tracestate',
    tenant varchar(255) CHARACTER SET utf8mb4 PATH '$.tenant',
    tags longtext CHARACTER SET utf8mb4 PATH '$.tags')) AS m
ORDER BY m.place
