-- name: claim
UPDATE outbox_alert
SET claimed_by = ?2, claimed_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?3
WHERE kind = ?1 AND (claimed_until IS NULL OR claimed_until <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
  AND CASE WHEN ?5 = 1 THEN is_open = 1
           ELSE told_at IS NULL OR told_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?4 END

-- name: release
UPDATE outbox_alert
SET claimed_by = NULL, claimed_until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + ?3
WHERE kind = ?1 AND claimed_by = ?2

-- name: standing
-- The newest term of a shard: since when, whether its end is noted, and when its replica was last seen.
SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - t.started_at AS started_ms,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - l.ended_at AS ended_ms,
       CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - r.seen_at AS seen_ms,
       a.is_open AS is_open
FROM outbox_term t
LEFT JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch
LEFT JOIN outbox_replica r ON r.id = substr(t.holder, 1, instr(t.holder, '.') - 1)
CROSS JOIN outbox_alert a
WHERE t.shard = ?1 AND a.kind = 'no_poller'

-- name: told
UPDATE outbox_alert
SET told_at = CASE WHEN ?3 = 1 THEN told_at ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) END, is_open = ?4,
    claimed_by = NULL, claimed_until = NULL
WHERE kind = ?1 AND claimed_by = ?2
