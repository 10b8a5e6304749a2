-- name: enqueue
-- In the order of the array: ids decide within an ordering key. Times are reckoned without the session's time zone.
INSERT INTO outbox (idempotency_key, channel, target, payload, headers, ordering_key, priority, max_attempts,
                    available_at, expires_at, traceparent, tracestate, tenant, tags)
SELECT m.idempotency_key, m.channel, m.target, m.payload, m.headers, m.ordering_key, m.priority, m.max_attempts,
       COALESCE(TIMESTAMPADD(MICROSECOND, m.due_at_ms * 1000, '1970-01-01 00:00:00'),
                TIMESTAMPADD(MICROSECOND, COALESCE(m.due_in_ms, 0) * 1000, UTC_TIMESTAMP(6))),
       COALESCE(TIMESTAMPADD(MICROSECOND, m.expires_at_ms * 1000, '1970-01-01 00:00:00'),
                TIMESTAMPADD(MICROSECOND, m.expires_in_ms * 1000, UTC_TIMESTAMP(6))),
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
    due_in_ms bigint PATH '$.due_in_ms',
    due_at_ms bigint PATH '$.due_at_ms',
    expires_in_ms bigint PATH '$.expires_in_ms',
    expires_at_ms bigint PATH '$.expires_at_ms',
    traceparent varchar(64) CHARACTER SET utf8mb4 PATH '$.traceparent',
    tracestate varchar(512) CHARACTER SET utf8mb4 PATH '$.tracestate',
    tenant varchar(255) CHARACTER SET utf8mb4 PATH '$.tenant',
    tags longtext CHARACTER SET utf8mb4 PATH '$.tags')) AS m
ORDER BY m.place

-- name: enqueue_at_once
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

-- name: enqueued
-- A locking read: under REPEATABLE READ another would not see a duplicate that was committed since the snapshot.
SELECT o.id, o.idempotency_key
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    idempotency_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (outbox_idempotency_key) ON o.idempotency_key = asked.idempotency_key
/*M! LOCK IN SHARE MODE */ /*!80000 FOR SHARE OF o */
