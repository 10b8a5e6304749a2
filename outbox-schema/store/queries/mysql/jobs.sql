-- name: begin
-- A run has begun. One without a period leaves the last one as it is.
UPDATE outbox_job
SET period_from = COALESCE(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 * 1000 MICROSECOND, period_from),
    held_until = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?3 * 1000 MICROSECOND,
    due_within_ms = ?4, crashed = crashed + ?5
WHERE name = ?1

-- name: crashed
-- The run of this job before this token, where nobody told its end.
UPDATE outbox_job_run SET ended_at = seen_at, ended_because = 'crashed'
WHERE name = ?1 AND token = ?2 - 1 AND ended_because IS NULL

-- name: end
-- How a run ended. The poller, or a later run, may have taken it for crashed.
UPDATE outbox_job_run
SET ended_at = UTC_TIMESTAMP(3), seen_at = UTC_TIMESTAMP(3), ended_because = ?2, exit_code = ?3, `signal` = ?4, tail = ?5
WHERE id = ?1 AND (ended_because IS NULL OR ended_because = 'crashed')

-- name: ended
-- What the end of a run leaves for the next: when it may begin (--every), when the last one succeeded, and how many ended so.
UPDATE outbox_job
SET held_until = COALESCE(GREATEST(COALESCE(held_until, TIMESTAMP'1970-01-01 00:00:00'),
                                   TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 * 1000 MICROSECOND), held_until),
    last_success_at = CASE WHEN ?3 = 'finished' THEN UTC_TIMESTAMP(3) ELSE last_success_at END,
    finished = finished + (?3 = 'finished'), failed = failed + (?3 = 'failed'), timed_out = timed_out + (?3 = 'timed_out'),
    lost = lost + (?3 = 'lost'), stopped = stopped + (?3 = 'stopped'), crashed = crashed + (?3 = 'crashed')
WHERE name = ?1

-- name: known
-- A job is known from its first run on.
INSERT INTO outbox_job (name, created_at) VALUES (?1, UTC_TIMESTAMP(3)) ON DUPLICATE KEY UPDATE name = name

-- name: known_token
-- Where it is known already it waits for no transaction that has fenced the row.
INSERT IGNORE INTO outbox_job_token (name, token)
SELECT ?1, 0 FROM (SELECT 1) one WHERE NOT EXISTS (SELECT 1 FROM outbox_job_token t WHERE t.name = ?1)

-- name: lock
-- What says whether a run may begin. Whoever asks begins it, or none.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', period_from) DIV 1000 AS period_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', held_until) DIV 1000 AS held_ms,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', last_success_at) DIV 1000 AS last_success_ms, paused_at IS NOT NULL AS paused
FROM outbox_job WHERE name = ?1 FOR UPDATE

-- name: mint
-- The next token. It waits for a transaction that was fenced by the one before.
UPDATE outbox_job_token SET token = token + 1 WHERE name = ?1

-- name: remove
-- Old runs but for the newest of each job, at most so many.
DELETE r FROM (
    SELECT o.id FROM outbox_job_run o JOIN outbox_job_token t ON t.name = o.name
    WHERE o.started_at < UTC_TIMESTAMP(3) - INTERVAL ?1 * 1000 MICROSECOND AND o.token < t.token
    ORDER BY o.started_at LIMIT ?2) old
STRAIGHT_JOIN outbox_job_run r FORCE INDEX (PRIMARY) ON r.id = old.id

-- name: run
INSERT INTO outbox_job_run (name, token, holder, host, pid, command, started_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))

-- name: seen
-- A run goes on, and nobody has taken it for crashed.
UPDATE outbox_job_run SET seen_at = UTC_TIMESTAMP(3) WHERE id = ?1 AND ended_because IS NULL

-- name: silent
-- The newest runs that have told neither an end nor, for so long, that they go on; at most so many.
SELECT r.name, r.token FROM outbox_job_token t JOIN outbox_job_run r ON r.name = t.name AND r.token = t.token
WHERE r.ended_because IS NULL AND r.seen_at < UTC_TIMESTAMP(3) - INTERVAL ?1 * 1000 MICROSECOND ORDER BY r.name LIMIT ?2

-- name: skipped
-- Somebody else has the seat, or it is not time yet.
UPDATE outbox_job SET skips = skips + 1 WHERE name = ?1

-- name: token
SELECT token FROM outbox_job_token WHERE name = ?1
