-- Whether a claim has anything to do, read without the write lock that every writer of the file waits for: an idle
-- poll must not hold up the application. An ordered row counts as something, due or not.
SELECT t.epoch, t.holder,
       EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?2) AS made,
       EXISTS (SELECT 1 FROM json_each(?5) start CROSS JOIN outbox o INDEXED BY outbox_due
               WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority = start.key
                 AND o.available_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
                 AND (o.available_at, o.id) > (coalesce(start.value ->> 0, -9e999), coalesce(start.value ->> 1, 0))
                 AND o.id NOT IN (SELECT value FROM json_each(?3))
                 AND o.destination NOT IN (SELECT value FROM json_each(?4))
                 AND o.channel NOT IN (SELECT value FROM json_each(?6)))
       OR EXISTS (SELECT 1 FROM outbox o INDEXED BY outbox_ordered
                  WHERE o.shard = ?1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL) AS due
FROM outbox_term t WHERE t.shard = ?1
