UPDATE outbox AS o
SET status = m.status,
    revision = o.revision + 1,
    attempts = o.attempts + m.counted,
    dead_reason = m.dead_reason,
    available_at = coalesce(now.ms + m.after_ms, o.available_at),
    deadline_ms = coalesce(m.deadline_ms, o.deadline_ms),
    deferred_from = CASE WHEN m.spared_ms > 0 THEN now.ms + m.spared_ms
                         WHEN m.deferred THEN coalesce(o.deferred_from, o.available_at)
                         -- An unsent row may have been put aside since its claim, and is still to be brought back.
                         WHEN m.status = 'PENDING' AND m.after_ms IS NULL THEN o.deferred_from END,
    first_attempt_at = CASE WHEN m.counted = 0 AND m.spared_ms IS NULL THEN o.first_attempt_at
                            ELSE coalesce(o.first_attempt_at, now.ms - m.started_ms) END,
    finished_at = CASE WHEN m.status <> 'PENDING' THEN now.ms END,
    receipt = coalesce(m.receipt, o.receipt),
    last_status_code = coalesce(m.status_code, o.last_status_code),
    last_error = CASE WHEN m.status = 'SUCCESS' THEN NULL ELSE coalesce(m.error, o.last_error) END,
    error_hash = m.error_hash
FROM (
    SELECT value ->> 'id' AS id, value ->> 'revision' AS revision, value ->> 'status' AS status,
           value ->> 'counted' AS counted, value ->> 'dead_reason' AS dead_reason, value ->> 'after_ms' AS after_ms,
           value ->> 'deadline_ms' AS deadline_ms,
           value ->> 'deferred' AS deferred, value ->> 'spared_ms' AS spared_ms, value ->> 'started_ms' AS started_ms, value ->> 'receipt' AS receipt,
           value ->> 'status_code' AS status_code, value ->> 'error' AS error,
           value ->> 'error_hash' AS error_hash
    FROM json_each(?1)
) AS m, (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS ms) AS now
WHERE o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
RETURNING id
