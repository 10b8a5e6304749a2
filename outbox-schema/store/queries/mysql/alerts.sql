-- name: claim
UPDATE outbox_alert
SET claimed_by = ?2, claimed_until = UTC_TIMESTAMP(6) + INTERVAL ?3 * 1000 MICROSECOND
WHERE kind = ?1 AND (claimed_until IS NULL OR claimed_until <= UTC_TIMESTAMP(6))
  AND CASE WHEN ?5 = 1 THEN is_open = 1
           ELSE told_at IS NULL OR told_at <= UTC_TIMESTAMP(6) - INTERVAL ?4 * 1000 MICROSECOND END

-- name: release
UPDATE outbox_alert
SET claimed_by = NULL, claimed_until = UTC_TIMESTAMP(6) + INTERVAL ?3 * 1000 MICROSECOND
WHERE kind = ?1 AND claimed_by = ?2

-- name: standing
-- The newest term of a shard: since when, whether its end is noted, and when its replica was last seen.
SELECT TIMESTAMPDIFF(MICROSECOND, t.started_at, UTC_TIMESTAMP(6)) DIV 1000 AS started_ms,
       TIMESTAMPDIFF(MICROSECOND, l.ended_at, UTC_TIMESTAMP(6)) DIV 1000 AS ended_ms,
       TIMESTAMPDIFF(MICROSECOND, r.seen_at, UTC_TIMESTAMP(6)) DIV 1000 AS seen_ms,
       CAST(a.is_open AS SIGNED) AS is_open
FROM outbox_term t
LEFT JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch
LEFT JOIN outbox_replica r FORCE INDEX (PRIMARY) ON r.id = CONVERT(SUBSTRING_INDEX(t.holder, '.', 1) USING ascii)
CROSS JOIN outbox_alert a
WHERE t.shard = ? AND a.kind = 'no_poller'

-- name: told
UPDATE outbox_alert
SET told_at = CASE WHEN ?3 = 1 THEN told_at ELSE UTC_TIMESTAMP(6) END, is_open = ?4,
    claimed_by = NULL, claimed_until = NULL
WHERE kind = ?1 AND claimed_by = ?2
