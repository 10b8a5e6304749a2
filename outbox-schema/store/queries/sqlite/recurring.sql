-- name: all
SELECT name, cron, timezone, since AS since_ms, fired_for AS fired_ms, next_at AS next_ms, asked_at AS asked_ms,
       paused_at IS NOT NULL AS paused
FROM outbox_recurring

-- name: asked
UPDATE outbox_recurring SET asked_at = NULL WHERE name = ?1 AND asked_at = ?2

-- name: fire
-- Times for which a message was written, that were left out or that came before a pause ended have none any more.
UPDATE outbox_recurring SET fired_for = ?3, next_at = ?4
WHERE name = ?1 AND paused_at IS NULL AND max(since, coalesce(fired_for, since)) < ?2

-- name: know
-- Another pattern begins now: its past is nobody's.
INSERT INTO outbox_recurring AS kept (name, cron, timezone, next_at, since)
VALUES (?1, ?2, ?3, ?4, CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (name) DO UPDATE
SET since = iif((kept.cron, kept.timezone) = (excluded.cron, excluded.timezone), kept.since, excluded.since),
    cron = excluded.cron, timezone = excluded.timezone, next_at = iif(kept.paused_at IS NULL, excluded.next_at, NULL)
