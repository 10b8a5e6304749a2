-- Where rows are updated in place, assignments are made from left to right: deferred_from reads what available_at was.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', status varchar(16) CHARACTER SET utf8mb4 PATH '$.status', counted integer PATH '$.counted',
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason', after_ms bigint PATH '$.after_ms',
    deadline_ms integer PATH '$.deadline_ms', deferred boolean PATH '$.deferred', spared_ms bigint PATH '$.spared_ms', receipt text CHARACTER SET utf8mb4 PATH '$.receipt',
    status_code integer PATH '$.status_code', error text CHARACTER SET utf8mb4 PATH '$.error',
    error_hash varchar(16) CHARACTER SET utf8mb4 PATH '$.error_hash',
    started_ms bigint PATH '$.started_ms')) m
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id
SET o.status = m.status,
    o.revision = o.revision + 1,
    o.attempts = o.attempts + m.counted,
    o.dead_reason = m.dead_reason,
    o.deferred_from = CASE WHEN m.spared_ms > 0 THEN UTC_TIMESTAMP(6) + INTERVAL m.spared_ms * 1000 MICROSECOND
                           WHEN m.deferred THEN COALESCE(o.deferred_from, o.available_at)
                           -- An unsent row may have been put aside since its claim, and is still to be brought back.
                           WHEN m.status = 'PENDING' AND m.after_ms IS NULL THEN o.deferred_from END,
    o.available_at = CASE WHEN m.after_ms IS NULL THEN o.available_at
                          ELSE UTC_TIMESTAMP(6) + INTERVAL m.after_ms * 1000 MICROSECOND END,
    o.deadline_ms = COALESCE(m.deadline_ms, o.deadline_ms),
    o.first_attempt_at = CASE WHEN m.counted = 0 AND m.spared_ms IS NULL THEN o.first_attempt_at ELSE COALESCE(
        o.first_attempt_at, UTC_TIMESTAMP(6) - INTERVAL m.started_ms * 1000 MICROSECOND) END,
    o.finished_at = CASE WHEN m.status <> 'PENDING' THEN UTC_TIMESTAMP(6) END,
    o.receipt = COALESCE(m.receipt, o.receipt),
    o.last_status_code = COALESCE(m.status_code, o.last_status_code),
    o.last_error = CASE WHEN m.status = 'SUCCESS' THEN NULL ELSE COALESCE(m.error, o.last_error) END,
    o.error_hash = m.error_hash
