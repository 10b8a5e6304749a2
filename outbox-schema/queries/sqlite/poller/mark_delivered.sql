-- As mark.sql does, of plain deliveries.
UPDATE outbox AS o
SET status = 'SUCCESS',
    revision = o.revision + 1,
    attempts = o.attempts + 1,
    dead_reason = NULL,
    deferred_from = NULL,
    first_attempt_at = coalesce(o.first_attempt_at, now.ms - m.started_ms),
    finished_at = now.ms,
    receipt = coalesce(m.receipt, o.receipt),
    last_status_code = coalesce(m.status_code, o.last_status_code),
    last_error = NULL,
    error_hash = NULL
FROM (
    SELECT value ->> 'id' AS id, value ->> 'revision' AS revision, value ->> 'started_ms' AS started_ms,
           value ->> 'status_code' AS status_code, value ->> 'receipt' AS receipt
    FROM json_each(?1)
) AS m, (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS ms) AS now
WHERE o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
RETURNING id
