-- Steps from key to key, as a claim does.
WITH RECURSIVE head(id) AS (
    SELECT coalesce(
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL
           AND channel = coalesce(?2, '') AND ordering_key >= coalesce(?3, '')
         ORDER BY ordering_key, id LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND channel > coalesce(?2, '')
         ORDER BY channel, ordering_key, id LIMIT 1))
    UNION ALL
    SELECT coalesce(
        (SELECT following.id FROM outbox following INDEXED BY outbox_ordered
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NOT NULL
           AND following.channel = o.channel AND following.ordering_key > o.ordering_key
         ORDER BY following.ordering_key, following.id LIMIT 1),
        (SELECT following.id FROM outbox following INDEXED BY outbox_ordered
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NOT NULL
           AND following.channel > o.channel
         ORDER BY following.channel, following.ordering_key, following.id LIMIT 1))
    FROM head CROSS JOIN outbox o ON o.id = head.id
)
SELECT o.channel, o.ordering_key
FROM (SELECT id FROM head LIMIT 1 OFFSET ?4) there CROSS JOIN outbox o ON o.id = there.id
