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
