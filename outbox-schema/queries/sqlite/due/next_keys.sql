-- The next ordering keys of the ring, found as next_lanes.sql finds lanes.
WITH RECURSIVE head(id) AS (
    SELECT coalesce(
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL
           AND channel = CAST(unhex(?2) AS TEXT) AND ordering_key > CAST(unhex(?3) AS TEXT)
         ORDER BY ordering_key, id LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND channel > CAST(unhex(?2) AS TEXT)
         ORDER BY channel, ordering_key, id LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_ordered
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NOT NULL AND ?2 IS NULL
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
    LIMIT ?4
)
SELECT hex(o.channel), hex(o.ordering_key) FROM head CROSS JOIN outbox o ON o.id = head.id
