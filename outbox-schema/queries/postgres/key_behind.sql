-- Steps from key to key, as a claim does.
WITH RECURSIVE head AS (
    (SELECT o.channel, o.ordering_key, hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) AS hash
     FROM outbox o
     WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
       AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0))
           >= coalesce(hashtextextended($3, hashtextextended($2, 0)), -9223372036854775808)
     ORDER BY hash LIMIT 1)
    UNION ALL
    SELECT following.* FROM head, LATERAL (
        SELECT o.channel, o.ordering_key, hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) AS hash
        FROM outbox o
        WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
          AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) > head.hash
        ORDER BY hash LIMIT 1) following
)
SELECT channel, ordering_key FROM head OFFSET $4 LIMIT 1
