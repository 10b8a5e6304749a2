-- The heads of ordering keys, but for those that a dead letter halts; of the keys whose numbers in the index are p_from or
-- more and less than p_until, where these are not NULL. Found by stepping from key to key in the index: a row without an
-- index of its own to step on (NOT EXISTS for each row) took 1.6 s with 100,000 rows behind one key.
CREATE OR REPLACE FUNCTION outbox_ordered_heads(p_shard smallint, p_halting varchar[], p_from bigint, p_until bigint)
RETURNS TABLE (id bigint, revision integer, channel varchar, ordering_key varchar, destination varchar,
               payload_bytes integer, priority smallint, available_at timestamptz)
LANGUAGE sql STABLE
AS $$
    WITH RECURSIVE head AS (
        (SELECT o.id, o.revision, o.channel, o.ordering_key, o.destination, o.payload_bytes, o.priority, o.available_at,
                hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) AS hash
         FROM outbox o
         WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
           AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) >= coalesce(p_from, -9223372036854775808)
         ORDER BY hash, o.id LIMIT 1)
        UNION ALL
        SELECT following.* FROM head, LATERAL (
            SELECT o.id, o.revision, o.channel, o.ordering_key, o.destination, o.payload_bytes, o.priority,
                   o.available_at, hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) AS hash
            FROM outbox o
            WHERE o.shard = p_shard AND o.status = 'PENDING' AND o.ordering_key IS NOT NULL
              AND hashtextextended(o.ordering_key, hashtextextended(o.channel, 0)) > head.hash
            ORDER BY hash, o.id LIMIT 1) following
        WHERE p_until IS NULL OR head.hash < p_until
    )
    SELECT head.id, head.revision, head.channel, head.ordering_key, head.destination, head.payload_bytes, head.priority,
           head.available_at
    FROM head
    WHERE (p_until IS NULL OR head.hash < p_until)
      AND (head.channel <> ALL (p_halting) OR NOT EXISTS (
        SELECT FROM outbox dead
        WHERE dead.shard = p_shard AND dead.channel = head.channel AND dead.ordering_key = head.ordering_key
          AND dead.id < head.id AND dead.status = 'DEAD' AND dead.dead_reason IS DISTINCT FROM 'cancelled'))
$$;
