-- Deliveries that could not be marked, each once. It asks for no right to `outbox` itself: that may be what is missing.
INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, started_at, duration_ms, outcome, error)
SELECT m.id, m.number, m.epoch, m.holder, c.claimed_at,
       UTC_TIMESTAMP(6) - INTERVAL m.started_ms * 1000 MICROSECOND, m.duration_ms, 'delivered_unmarked', m.error
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim', id bigint PATH '$.id', number integer PATH '$.number',
    epoch bigint PATH '$.epoch', holder varchar(255) CHARACTER SET utf8mb4 PATH '$.holder',
    started_ms bigint PATH '$.started_ms', duration_ms bigint PATH '$.duration_ms',
    error text CHARACTER SET utf8mb4 PATH '$.error')) m
LEFT JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = m.claim
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_attempt a WHERE a.message_id = m.id AND a.epoch = m.epoch
    AND a.holder = m.holder AND a.number = m.number AND a.outcome = 'delivered_unmarked')
