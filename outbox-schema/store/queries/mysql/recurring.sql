-- name: all
SELECT name, cron, timezone, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', since) DIV 1000 AS since_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', fired_for) DIV 1000 AS fired_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', next_at) DIV 1000 AS next_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', asked_at) DIV 1000 AS asked_ms, paused_at IS NOT NULL AS paused
FROM outbox_recurring

-- name: asked
UPDATE outbox_recurring SET asked_at = NULL
WHERE name = ? AND asked_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ? * 1000 MICROSECOND

-- name: fire
-- Times for which a message was written, that were left out or that came before a pause ended have none any more.
UPDATE outbox_recurring
SET fired_for = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 * 1000 MICROSECOND,
    next_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 * 1000 MICROSECOND
WHERE name = ?1 AND paused_at IS NULL
  AND GREATEST(since, COALESCE(fired_for, since)) < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 * 1000 MICROSECOND

-- name: know
-- Another pattern begins now: its past is nobody's. Columns are set in this order, and each sees those before it.
INSERT INTO outbox_recurring (name, cron, timezone, next_at, since)
VALUES (?1, ?2, ?3, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?4 * 1000 MICROSECOND, UTC_TIMESTAMP(3))
ON DUPLICATE KEY UPDATE
    since = IF(cron = VALUES(cron) AND timezone = VALUES(timezone), since, VALUES(since)),
    cron = VALUES(cron), timezone = VALUES(timezone), next_at = IF(paused_at IS NULL, VALUES(next_at), NULL)
