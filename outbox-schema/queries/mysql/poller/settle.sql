UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    message_id bigint PATH '$.message_id', number integer PATH '$.number',
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim',
    status varchar(16) CHARACTER SET utf8mb4 PATH '$.status',
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason',
    error text CHARACTER SET utf8mb4 PATH '$.error',
    error_hash varchar(16) CHARACTER SET utf8mb4 PATH '$.error_hash')) d
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = d.claim
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = d.message_id
SET o.status = d.status,
    o.dead_reason = d.dead_reason,
    o.revision = o.revision + 1,
    o.attempts = d.number,
    o.available_at = UTC_TIMESTAMP(6),
    o.first_attempt_at = COALESCE(o.first_attempt_at, c.claimed_at),
    o.finished_at = CASE WHEN d.status <> 'PENDING' THEN UTC_TIMESTAMP(6) END,
    o.last_error = d.error,
    o.error_hash = d.error_hash
