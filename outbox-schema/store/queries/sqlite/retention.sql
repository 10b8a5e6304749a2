-- name: destinations_page
-- A stretch of what is kept of destinations, in the order of their names, from behind the first parameter: whether nothing of it has
-- been true for a day.
SELECT destination,
       max(coalesce(paused_until, 0), coalesce(aside_until, 0), coalesce(ramp_from, 0), coalesce(last_sent_at, 0),
           coalesce(by_hand_at, 0)) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 86400000 AS over
FROM outbox_destination WHERE destination > ?1 ORDER BY destination LIMIT ?2

-- name: forget_destinations
-- Forgets these destinations, where still nothing of what is kept of them has been true for a day.
DELETE FROM outbox_destination
WHERE destination IN (SELECT value FROM json_each(?1))
  AND max(coalesce(paused_until, 0), coalesce(aside_until, 0), coalesce(ramp_from, 0), coalesce(last_sent_at, 0),
          coalesce(by_hand_at, 0)) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 86400000

-- name: old_terms
-- Of each shard, the terms in the log that are over 30 days old and not among its last 1,000: the first and the last epoch.
SELECT l.shard AS shard, min(l.epoch) AS first, max(l.epoch) AS last
FROM outbox_term_log l JOIN outbox_term t ON t.shard = l.shard
WHERE l.epoch <= t.epoch - 1000
  AND l.started_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 30 * 86400000
GROUP BY l.shard

-- name: orphaned_attempts
-- Messages of a stretch of ids that have attempts and are gone: purged, deleted by somebody, or removed before a late mark
-- was refused. Looked for one by one, so that nobody reads the whole outbox for it.
SELECT DISTINCT a.message_id FROM outbox_attempt a
WHERE a.message_id > ?1 AND a.message_id <= ?2
  AND (SELECT o.id FROM outbox o WHERE o.id = a.message_id) IS NULL
LIMIT ?3

-- name: prune_lock
-- Those of the rows that may still go; the lock is that of the whole file. A dead letter that holds up its ordering key
-- stays for as long as a later message of the key waits: without it they would go out as if it had never been.
SELECT o.id, o.status FROM outbox o
WHERE o.id IN (SELECT value FROM json_each(?1))
  AND (o.status = 'SUCCESS' AND coalesce(o.finished_at, o.created_at)
           <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?2
       OR o.status = 'DEAD' AND coalesce(o.finished_at, o.created_at)
           <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?3)
  AND NOT (o.status = 'DEAD' AND o.dead_reason IS NOT 'cancelled'
           AND o.channel NOT IN (SELECT value FROM json_each(?4))
           AND EXISTS (SELECT 1 FROM outbox later
                       WHERE later.shard = o.shard AND later.channel = o.channel
                         AND later.ordering_key = o.ordering_key AND later.id > o.id AND later.status = 'PENDING'))
ORDER BY o.id

-- name: prune_page
-- A stretch of the outbox in the order of ids, from behind the first parameter: how far each row is past its time (below
-- zero: it has time left; NULL: it is kept), and whether nothing of it or behind it can be. A row that was created within
-- the shortest time to keep (the last parameter) cannot be past it; a date in the future proves nothing.
SELECT id, status,
       CASE status WHEN 'SUCCESS' THEN age_ms - ?3 WHEN 'DEAD' THEN age_ms - ?4 END AS overdue_ms,
       created_at <= now_ms AND created_at > now_ms - ?5 AS young
FROM (SELECT id, status, created_at, now_ms, CAST(now_ms - coalesce(finished_at, created_at) AS INTEGER) AS age_ms
      FROM outbox,
           (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
      WHERE id > ?1 ORDER BY id LIMIT ?2)
ORDER BY id

-- name: prune_terms
DELETE FROM outbox_term_log WHERE shard = ?1 AND epoch <= ?2

-- name: purge
DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?1))

-- name: purge_attempts
DELETE FROM outbox_attempt WHERE message_id IN (SELECT value FROM json_each(?1))
