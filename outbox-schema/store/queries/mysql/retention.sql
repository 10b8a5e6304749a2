-- name: destinations_page
-- A stretch of what is kept of destinations, in the order of their names, from behind the first parameter: whether nothing of it has
-- been true for a day.
SELECT destination,
       CAST(GREATEST(COALESCE(paused_until, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(aside_until, TIMESTAMP'1000-01-01 00:00:00'),
                     COALESCE(ramp_from, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(last_sent_at, TIMESTAMP'1000-01-01 00:00:00'),
                     COALESCE(by_hand_at, TIMESTAMP'1000-01-01 00:00:00')) < UTC_TIMESTAMP(6) - INTERVAL 1 DAY AS SIGNED) AS `over`
FROM outbox_destination WHERE destination > ? ORDER BY destination LIMIT ?

-- name: forget_destinations
-- Forgets these destinations, where still nothing of what is kept of them has been true for a day.
DELETE d FROM JSON_TABLE(?, '$[*]' COLUMNS (
    name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS asked
STRAIGHT_JOIN outbox_destination d FORCE INDEX (PRIMARY) ON d.destination = asked.name
WHERE GREATEST(COALESCE(paused_until, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(aside_until, TIMESTAMP'1000-01-01 00:00:00'),
               COALESCE(ramp_from, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(last_sent_at, TIMESTAMP'1000-01-01 00:00:00'),
               COALESCE(by_hand_at, TIMESTAMP'1000-01-01 00:00:00')) < UTC_TIMESTAMP(6) - INTERVAL 1 DAY

-- name: old_terms
-- Of each shard, the terms in the log that are over 30 days old and not among its last 1,000: the first and the last epoch.
SELECT CAST(l.shard AS SIGNED) AS shard, MIN(l.epoch) AS first, MAX(l.epoch) AS last
FROM outbox_term_log l JOIN outbox_term t ON t.shard = l.shard
WHERE l.epoch <= t.epoch - 1000 AND l.started_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY
GROUP BY l.shard

-- name: orphaned_attempts
-- Messages of a stretch of ids that have attempts and are gone: purged, deleted by somebody, or removed before a late mark
-- was refused. Looked for one by one, so that nobody reads the whole outbox for it.
SELECT DISTINCT a.message_id FROM outbox_attempt a
WHERE a.message_id > ?1 AND a.message_id <= ?2
  AND (SELECT o.id FROM outbox o WHERE o.id = a.message_id) IS NULL
LIMIT ?3

-- name: prune_lock
-- Those of the rows that may still go, locked. A row that somebody is redriving or purging is left for the next time.
-- A dead letter that holds up its ordering key stays for as long as a later message of the key waits: without it they
-- would go out as if it had never been.
SELECT o.id, o.status FROM JSON_TABLE(?1, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
WHERE (o.status = 'SUCCESS'
           AND COALESCE(o.finished_at, o.created_at) <= UTC_TIMESTAMP(6) - INTERVAL ?2 * 1000 MICROSECOND
       OR o.status = 'DEAD'
           AND COALESCE(o.finished_at, o.created_at) <= UTC_TIMESTAMP(6) - INTERVAL ?3 * 1000 MICROSECOND)
  AND NOT (o.status = 'DEAD' AND COALESCE(o.dead_reason, '') <> 'cancelled'
           AND NOT JSON_CONTAINS(?4, JSON_QUOTE(o.channel))
           AND EXISTS (SELECT 1 FROM outbox later
                       WHERE later.shard = o.shard AND later.channel = o.channel
                         AND later.ordering_key = o.ordering_key AND later.id > o.id AND later.status = 'PENDING'))
ORDER BY o.id FOR UPDATE /*!80000 OF o */ SKIP LOCKED

-- name: prune_page
-- A stretch of the outbox in the order of ids, from behind the first parameter: how far each row is past its time (below
-- zero: it has time left; NULL: it is kept), and whether nothing of it or behind it can be. A row that was created within
-- the shortest time to keep (the last parameter) cannot be past it; a date in the future proves nothing.
SELECT id, status,
       CASE status WHEN 'SUCCESS' THEN age_ms - ?3 WHEN 'DEAD' THEN age_ms - ?4 END AS overdue_ms,
       CAST(created_at <= UTC_TIMESTAMP(6) AND created_at > UTC_TIMESTAMP(6) - INTERVAL ?5 * 1000 MICROSECOND AS SIGNED)
           AS young
FROM (SELECT id, status, created_at,
             TIMESTAMPDIFF(MICROSECOND, COALESCE(finished_at, created_at), UTC_TIMESTAMP(6)) DIV 1000 AS age_ms
      FROM outbox WHERE id > ?1 ORDER BY id LIMIT ?2) page
ORDER BY id

-- name: prune_terms
DELETE FROM outbox_term_log WHERE shard = ? AND epoch <= ?

-- name: purge
DELETE o FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id

-- name: purge_attempts
DELETE a FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_attempt a FORCE INDEX (outbox_attempt_message) ON a.message_id = asked.id
