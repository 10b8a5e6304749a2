-- Due messages of a priority, without an ordering key, that are before a message: all of them where its own is lower, else those
-- longer due. How many, up to 10,000, and for how long the first has been due. Read from the index of the poll. And how many of
-- them are of its own tenant, read from the index of turns.
SELECT COUNT(*) AS ahead, TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6)) DIV 1000 AS oldest_ms,
       (SELECT COUNT(*) FROM (
           SELECT t.id FROM outbox t FORCE INDEX (outbox_turns)
           WHERE t.shard = ?1 AND t.turn = (SELECT o.turn FROM outbox o WHERE o.id = ?4) AND t.priority = ?2
             AND t.available_at <= IF(?2 > ?3, UTC_TIMESTAMP(6), (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
             AND (?2 > ?3 OR t.id < ?4 OR t.available_at < (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
           LIMIT 10000) own) AS of_tenant
FROM (
    SELECT b.available_at FROM outbox b FORCE INDEX (outbox_due)
    WHERE b.status = 'PENDING' AND b.shard = ?1 AND b.ordering_key IS NULL AND b.priority = ?2
      AND b.available_at <= IF(?2 > ?3, UTC_TIMESTAMP(6), (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
      AND (?2 > ?3 OR b.id < ?4 OR b.available_at < (SELECT o.available_at FROM outbox o WHERE o.id = ?4))
    ORDER BY b.available_at, b.id LIMIT 10000
) earlier
