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
