-- name: destinations_page
-- A stretch of what is kept of destinations, in the order of their names, from behind the first parameter: whether nothing of it has
-- been true for a day.
SELECT destination,
       (coalesce(greatest(paused_until, aside_until, ramp_from, last_sent_at, by_hand_at), '-infinity')
        < now() - interval '1 day')::integer::bigint AS over
FROM outbox_destination WHERE destination > $1 ORDER BY destination LIMIT $2

-- name: forget_destinations
-- Forgets these destinations, where still nothing of what is kept of them has been true for a day.
DELETE FROM outbox_destination
WHERE destination = ANY (ARRAY(SELECT json_array_elements_text($1::json)))
  AND coalesce(greatest(paused_until, aside_until, ramp_from, last_sent_at, by_hand_at), '-infinity') < now() - interval '1 day'

-- name: old_terms
-- Of each shard, the terms in the log that are over 30 days old and not among its last 1,000: the first and the last epoch.
SELECT l.shard::bigint AS shard, min(l.epoch) AS first, max(l.epoch) AS last
FROM outbox_term_log l JOIN outbox_term t ON t.shard = l.shard
WHERE l.epoch <= t.epoch - 1000 AND l.started_at < now() - interval '30 days'
GROUP BY l.shard

-- name: orphaned_attempts
-- Messages of a stretch of ids that have attempts and are gone: purged, deleted by somebody, or removed before a late mark
-- was refused. Looked for one by one, so that nobody reads the whole outbox for it.
SELECT DISTINCT a.message_id FROM outbox_attempt a
WHERE a.message_id > $1 AND a.message_id <= $2
  AND (SELECT o.id FROM outbox o WHERE o.id = a.message_id) IS NULL
LIMIT $3

-- name: prune_lock
-- Those of the rows that may still go, locked. A row that somebody is redriving or purging is left for the next time.
-- A dead letter that holds up its ordering key stays for as long as a later message of the key waits: without it they
-- would go out as if it had never been.
SELECT o.id, o.status FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND (o.status = 'SUCCESS' AND coalesce(o.finished_at, o.created_at) <= now() - $2 * interval '1 ms'
       OR o.status = 'DEAD' AND coalesce(o.finished_at, o.created_at) <= now() - $3 * interval '1 ms')
  AND NOT (o.status = 'DEAD' AND o.dead_reason IS DISTINCT FROM 'cancelled'
           AND o.channel <> ALL (ARRAY(SELECT json_array_elements_text($4::json)))
           AND EXISTS (SELECT FROM outbox later
                       WHERE later.shard = o.shard AND later.channel = o.channel
                         AND later.ordering_key = o.ordering_key AND later.id > o.id AND later.status = 'PENDING'
                         AND hashtextextended(later.ordering_key, hashtextextended(later.channel, 0))
                             = hashtextextended(o.ordering_key, hashtextextended(o.channel, 0))))
ORDER BY o.id FOR UPDATE OF o SKIP LOCKED

-- name: prune_page
-- A stretch of the outbox in the order of ids, from behind the first parameter: how far each row is past its time (below
-- zero: it has time left; NULL: it is kept), and whether nothing of it or behind it can be. A row that was created within
-- the shortest time to keep (the last parameter) cannot be past it; a date in the future proves nothing.
SELECT id, status,
       CASE status WHEN 'SUCCESS' THEN age_ms - $3 WHEN 'DEAD' THEN age_ms - $4 END AS overdue_ms,
       (created_at <= now() AND created_at > now() - $5 * interval '1 ms')::integer::bigint AS young
FROM (SELECT id, status, created_at,
             (extract(epoch FROM now() - greatest(least(coalesce(finished_at, created_at), now()),
                                                  timestamptz '1970-01-01 00:00:00+00')) * 1000)::bigint AS age_ms
      FROM outbox WHERE id > $1 ORDER BY id LIMIT $2) page
ORDER BY id

-- name: prune_terms
DELETE FROM outbox_term_log WHERE shard = $1 AND epoch <= $2

-- name: purge
DELETE FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))

-- name: purge_attempts
DELETE FROM outbox_attempt WHERE message_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
