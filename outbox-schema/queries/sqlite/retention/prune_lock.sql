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
