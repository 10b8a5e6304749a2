-- name: claim
UPDATE outbox_alert
SET claimed_by = $2, claimed_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE kind = $1 AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
  AND CASE WHEN $5::bigint = 1 THEN is_open = 1
           ELSE told_at IS NULL OR told_at <= clock_timestamp() - $4::bigint * interval '1 millisecond' END

-- name: release
UPDATE outbox_alert
SET claimed_by = NULL, claimed_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
WHERE kind = $1 AND claimed_by = $2

-- name: standing
-- The newest term of a shard: since when, whether its end is noted, and when its replica was last seen.
SELECT (extract(epoch FROM clock_timestamp() - t.started_at) * 1000)::bigint AS started_ms,
       (extract(epoch FROM clock_timestamp() - l.ended_at) * 1000)::bigint AS ended_ms,
       (extract(epoch FROM clock_timestamp() - r.seen_at) * 1000)::bigint AS seen_ms,
       a.is_open::bigint AS is_open
FROM outbox_term t
LEFT JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch
LEFT JOIN outbox_replica r ON r.id = split_part(t.holder, '.', 1)
CROSS JOIN outbox_alert a
WHERE t.shard = $1::bigint AND a.kind = 'no_poller'

-- name: told
UPDATE outbox_alert
SET told_at = CASE WHEN $3::bigint = 1 THEN told_at ELSE clock_timestamp() END, is_open = $4::bigint::smallint,
    claimed_by = NULL, claimed_until = NULL
WHERE kind = $1 AND claimed_by = $2
