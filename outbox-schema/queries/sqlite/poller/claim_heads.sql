-- The heads of the first ordering keys of a stretch, and of one more (see KeyStretch), found by stepping from key to key in the
-- index: asking for each row whether one is before it reads all that waits behind a key. One comparison of (channel,
-- ordering_key) would step on channel alone.
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
    WHERE ?4 IS NULL OR (o.channel, o.ordering_key) < (?4, ?5)
    LIMIT 513
)
SELECT o.id, o.channel, o.ordering_key FROM head CROSS JOIN outbox o ON o.id = head.id
WHERE ?4 IS NULL OR (o.channel, o.ordering_key) < (?4, ?5)
ORDER BY o.channel, o.ordering_key
