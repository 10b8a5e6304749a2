UPDATE outbox AS o
SET status = d.status,
    dead_reason = d.dead_reason,
    revision = o.revision + 1,
    attempts = d.number,
    available_at = d.now_ms,
    first_attempt_at = coalesce(o.first_attempt_at, d.claimed_at),
    finished_at = CASE WHEN d.status <> 'PENDING' THEN d.now_ms END,
    last_error = d.error,
    error_hash = d.error_hash
FROM (
    SELECT m.value ->> 'message_id' AS id, m.value ->> 'number' AS number, m.value ->> 'status' AS status,
           m.value ->> 'dead_reason' AS dead_reason, m.value ->> 'error' AS error,
           m.value ->> 'error_hash' AS error_hash, c.claimed_at,
           CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
    FROM json_each(?1) AS m JOIN outbox_claim c ON c.id = m.value ->> 'claim'
) AS d
WHERE o.id = d.id
