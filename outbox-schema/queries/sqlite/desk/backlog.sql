-- Due messages of a priority, without an ordering key, that are before a message: all of them where its own is lower, else those
-- longer due. How many, up to 10,000, and for how long the first has been due. Read from the index of the poll. And how many of
-- them are of its own tenant, read from the index of turns.
WITH clock AS (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms)
SELECT count(*) AS ahead, CAST((SELECT now_ms FROM clock) - min(available_at) AS INTEGER) AS oldest_ms,
       (SELECT count(*) FROM (
           SELECT 1 FROM outbox o CROSS JOIN outbox t INDEXED BY outbox_turns
             ON t.channel = o.channel AND coalesce(t.tenant, t.destination) = coalesce(o.tenant, o.destination)
           WHERE o.id = ?4 AND t.shard = ?1 AND t.status = 'PENDING' AND t.ordering_key IS NULL AND t.priority = ?2
             AND t.available_at <= (SELECT now_ms FROM clock)
             AND (t.available_at, t.id) < (CASE WHEN ?2 > ?3 THEN 9223372036854775807 ELSE o.available_at END, ?4)
           LIMIT 10000)) AS of_tenant
FROM (
    SELECT available_at FROM outbox INDEXED BY outbox_due
    WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND priority = ?2
      AND available_at <= (SELECT now_ms FROM clock)
      AND (available_at, id) < (CASE WHEN ?2 > ?3 THEN 9223372036854775807
                                     ELSE (SELECT available_at FROM outbox WHERE id = ?4) END, ?4)
    ORDER BY available_at, id LIMIT 10000
) before
