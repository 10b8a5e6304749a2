-- The next lanes of the ring, found by stepping from one to the next in the index. One comparison of (channel, tenant) would
-- step on the channel alone. Names are shown as bytes: not all are UTF-8. For the plus see look_at_lanes.sql.
WITH RECURSIVE lane(id) AS (
    SELECT coalesce(
        (SELECT id FROM outbox INDEXED BY outbox_turns
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL
           AND channel = CAST(unhex(?2) AS TEXT) AND coalesce(tenant, destination) > +CAST(unhex(?3) AS TEXT)
         ORDER BY coalesce(tenant, destination) LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_turns
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND channel > CAST(unhex(?2) AS TEXT)
         ORDER BY channel, coalesce(tenant, destination) LIMIT 1),
        (SELECT id FROM outbox INDEXED BY outbox_turns
         WHERE shard = ?1 AND status = 'PENDING' AND ordering_key IS NULL AND ?2 IS NULL
         ORDER BY channel, coalesce(tenant, destination) LIMIT 1))
    UNION ALL
    SELECT coalesce(
        (SELECT following.id FROM outbox following INDEXED BY outbox_turns
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NULL
           AND following.channel = o.channel
           AND coalesce(following.tenant, following.destination) > coalesce(o.tenant, o.destination)
         ORDER BY coalesce(following.tenant, following.destination) LIMIT 1),
        (SELECT following.id FROM outbox following INDEXED BY outbox_turns
         WHERE following.shard = ?1 AND following.status = 'PENDING' AND following.ordering_key IS NULL
           AND following.channel > o.channel
         ORDER BY following.channel, coalesce(following.tenant, following.destination) LIMIT 1))
    FROM lane CROSS JOIN outbox o ON o.id = lane.id
    LIMIT ?4
)
SELECT hex(o.channel), hex(coalesce(o.tenant, o.destination)) FROM lane CROSS JOIN outbox o ON o.id = lane.id
