-- name: begin
-- A run has begun. One without a period leaves the last one as it is.
UPDATE outbox_job
SET period_from = coalesce(timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 millisecond', period_from),
    held_until = timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 millisecond',
    due_within_ms = $4, crashed = crashed + $5
WHERE name = $1

-- name: crashed
-- The run of this job before this token, where nobody told its end.
UPDATE outbox_job_run SET ended_at = seen_at, ended_because = 'crashed'
WHERE name = $1 AND token = $2 - 1 AND ended_because IS NULL

-- name: end
-- How a run ended. The poller, or a later run, may have taken it for crashed.
UPDATE outbox_job_run
SET ended_at = clock_timestamp(), seen_at = clock_timestamp(), ended_because = $2, exit_code = $3::integer, signal = $4::integer, tail = $5
WHERE id = $1 AND (ended_because IS NULL OR ended_because = 'crashed')

-- name: ended
-- What the end of a run leaves for the next: when it may begin (--every), when the last one succeeded, and how many ended so.
UPDATE outbox_job
SET held_until = greatest(held_until, timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 millisecond'),
    last_success_at = CASE WHEN $3 = 'finished' THEN clock_timestamp() ELSE last_success_at END,
    finished = finished + ($3 = 'finished')::integer, failed = failed + ($3 = 'failed')::integer,
    timed_out = timed_out + ($3 = 'timed_out')::integer, lost = lost + ($3 = 'lost')::integer,
    stopped = stopped + ($3 = 'stopped')::integer, crashed = crashed + ($3 = 'crashed')::integer
WHERE name = $1

-- name: known
-- A job is known from its first run on.
INSERT INTO outbox_job (name, created_at) VALUES ($1, clock_timestamp()) ON CONFLICT (name) DO NOTHING

-- name: known_token
INSERT INTO outbox_job_token (name, token) VALUES ($1, 0) ON CONFLICT (name) DO NOTHING

-- name: lock
-- What says whether a run may begin. Whoever asks begins it, or none.
SELECT (extract(epoch FROM period_from) * 1000)::bigint AS period_ms,
       (extract(epoch FROM held_until) * 1000)::bigint AS held_ms,
       (extract(epoch FROM last_success_at) * 1000)::bigint AS last_success_ms, paused_at IS NOT NULL AS paused
FROM outbox_job WHERE name = $1 FOR UPDATE

-- name: mint
-- The next token. It waits for a transaction that was fenced by the one before.
UPDATE outbox_job_token SET token = token + 1 WHERE name = $1

-- name: remove
-- Old runs but for the newest of each job, at most so many.
DELETE FROM outbox_job_run WHERE id IN (
    SELECT r.id FROM outbox_job_run r JOIN outbox_job_token t ON t.name = r.name
    WHERE r.started_at < clock_timestamp() - $1::bigint * interval '1 millisecond' AND r.token < t.token
    ORDER BY r.started_at LIMIT $2)

-- name: run
INSERT INTO outbox_job_run (name, token, holder, host, pid, command, started_at, seen_at)
VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp()) RETURNING id

-- name: seen
-- A run goes on, and nobody has taken it for crashed.
UPDATE outbox_job_run SET seen_at = clock_timestamp() WHERE id = $1 AND ended_because IS NULL

-- name: silent
-- The newest runs that have told neither an end nor, for so long, that they go on; at most so many.
SELECT r.name, r.token FROM outbox_job_token t JOIN outbox_job_run r ON r.name = t.name AND r.token = t.token
WHERE r.ended_because IS NULL AND r.seen_at < clock_timestamp() - $1::bigint * interval '1 millisecond' ORDER BY r.name LIMIT $2

-- name: skipped
-- Somebody else has the seat, or it is not time yet.
UPDATE outbox_job SET skips = skips + 1 WHERE name = $1

-- name: token
SELECT token FROM outbox_job_token WHERE name = $1
