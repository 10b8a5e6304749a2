-- name: all
SELECT name, cron, timezone, (extract(epoch FROM since) * 1000)::bigint AS since_ms,
       (extract(epoch FROM fired_for) * 1000)::bigint AS fired_ms, (extract(epoch FROM next_at) * 1000)::bigint AS next_ms,
       (extract(epoch FROM asked_at) * 1000)::bigint AS asked_ms, paused_at IS NOT NULL AS paused
FROM outbox_recurring

-- name: asked
UPDATE outbox_recurring SET asked_at = NULL
WHERE name = $1 AND asked_at = timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 millisecond'

-- name: fire
-- Times for which a message was written, that were left out or that came before a pause ended have none any more.
UPDATE outbox_recurring
SET fired_for = timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 millisecond',
    next_at = timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 millisecond'
WHERE name = $1 AND paused_at IS NULL
  AND greatest(since, fired_for) < timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 millisecond'

-- name: know
-- Another pattern begins now: its past is nobody's.
INSERT INTO outbox_recurring AS kept (name, cron, timezone, next_at, since)
VALUES ($1, $2, $3, timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 millisecond', clock_timestamp())
ON CONFLICT (name) DO UPDATE
SET since = CASE WHEN (kept.cron, kept.timezone) = (excluded.cron, excluded.timezone) THEN kept.since ELSE excluded.since END,
    cron = excluded.cron, timezone = excluded.timezone, next_at = CASE WHEN kept.paused_at IS NULL THEN excluded.next_at END
