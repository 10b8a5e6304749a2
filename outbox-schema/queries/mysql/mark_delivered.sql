-- As mark.sql does, of plain deliveries, those that may still be marked.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', revision integer PATH '$.revision', started_ms bigint PATH '$.started_ms',
    status_code integer PATH '$.status_code', receipt text CHARACTER SET utf8mb4 PATH '$.receipt')) m
STRAIGHT_JOIN outbox o ON o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
SET o.status = 'SUCCESS',
    o.revision = o.revision + 1,
    o.attempts = o.attempts + 1,
    o.dead_reason = NULL,
    o.deferred_from = NULL,
    o.first_attempt_at = COALESCE(o.first_attempt_at, UTC_TIMESTAMP(6) - INTERVAL m.started_ms * 1000 MICROSECOND),
    o.finished_at = UTC_TIMESTAMP(6),
    o.receipt = COALESCE(m.receipt, o.receipt),
    o.last_status_code = COALESCE(m.status_code, o.last_status_code),
    o.last_error = NULL,
    o.error_hash = NULL,
    o.mark_room = NULL
