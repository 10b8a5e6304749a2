-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE outbox AS o
SET status = 'PENDING', revision = o.revision + 1, attempts = 0, dead_reason = NULL, error_hash = NULL,
    finished_at = NULL, first_attempt_at = NULL, deferred_from = NULL,
    available_at = max(asked.now_ms, asked.due_us / 1000),
    expires_at = CASE WHEN o.expires_at <= asked.now_ms THEN NULL ELSE o.expires_at END
FROM (SELECT value ->> 'id' AS id, value ->> 'due_us' AS due_us,
             CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
      FROM json_each(?1)) AS asked
WHERE o.id = asked.id
