-- name: begin
-- A run has begun. One without a period leaves the last one as it is.
UPDATE outbox_job
SET period_from = coalesce(?2, period_from),
    held_until = ?3,
    due_within_ms = ?4, crashed = crashed + ?5
WHERE name = ?1

-- name: crashed
-- The run of this job before this token, where nobody told its end.
UPDATE outbox_job_run SET ended_at = seen_at, ended_because = 'crashed'
WHERE name = ?1 AND token = ?2 - 1 AND ended_because IS NULL

-- name: end
-- How a run ended. The poller, or a later run, may have taken it for crashed.
UPDATE outbox_job_run
SET ended_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER), seen_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER),
    ended_because = ?2, exit_code = ?3, signal = ?4, tail = ?5
WHERE id = ?1 AND (ended_because IS NULL OR ended_because = 'crashed')

-- name: ended
-- What the end of a run leaves for the next: when it may begin (--every), when the last one succeeded, and how many ended so.
UPDATE outbox_job
SET held_until = COALESCE(max(COALESCE(held_until, ?2), ?2), held_until),
    last_success_at = CASE WHEN ?3 = 'finished' THEN CAST(round(unixepoch('subsec') * 1000) AS INTEGER) ELSE last_success_at END,
    finished = finished + (?3 = 'finished'), failed = failed + (?3 = 'failed'), timed_out = timed_out + (?3 = 'timed_out'),
    lost = lost + (?3 = 'lost'), stopped = stopped + (?3 = 'stopped'), crashed = crashed + (?3 = 'crashed')
WHERE name = ?1

-- name: known
-- A job is known from its first run on.
INSERT INTO outbox_job (name, created_at) VALUES (?1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) ON CONFLICT (name) DO NOTHING

-- name: known_token
INSERT INTO outbox_job_token (name, token) VALUES (?1, 0) ON CONFLICT (name) DO NOTHING

-- name: lock
-- What says whether a run may begin. Whoever asks begins it, or none.
SELECT period_from AS period_ms,
       held_until AS held_ms,
       last_success_at AS last_success_ms, paused_at IS NOT NULL AS paused
FROM outbox_job WHERE name = ?1

-- name: mint
-- The next token. It waits for a transaction that was fenced by the one before.
UPDATE outbox_job_token SET token = token + 1 WHERE name = ?1

-- name: remove
-- Old runs but for the newest of each job, at most so many.
DELETE FROM outbox_job_run WHERE id IN (
    SELECT r.id FROM outbox_job_run r JOIN outbox_job_token t ON t.name = r.name
    WHERE r.started_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?1 AND r.token < t.token
    ORDER BY r.started_at LIMIT ?2)

-- name: run
INSERT INTO outbox_job_run (name, token, holder, host, pid, command, started_at, seen_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) RETURNING id

-- name: seen
-- A run goes on, and nobody has taken it for crashed.
UPDATE outbox_job_run SET seen_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) WHERE id = ?1 AND ended_because IS NULL

-- name: silent
-- The newest runs that have told neither an end nor, for so long, that they go on; at most so many.
SELECT r.name, r.token FROM outbox_job_token t JOIN outbox_job_run r ON r.name = t.name AND r.token = t.token
WHERE r.ended_because IS NULL AND r.seen_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?1 ORDER BY r.name LIMIT ?2

-- name: skipped
-- Somebody else has the seat, or it is not time yet.
UPDATE outbox_job SET skips = skips + 1 WHERE name = ?1

-- name: token
SELECT token FROM outbox_job_token WHERE name = ?1
