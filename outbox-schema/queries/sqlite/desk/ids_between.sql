-- Of the rows between two ids, those that a filter means, the newest first.
SELECT o.id
FROM outbox o
WHERE o.id >= ?1 AND o.id < ?15
