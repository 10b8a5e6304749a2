-- Those of the asked that halt their ordering key where its channel says so, and the first message that waits behind each.
SELECT id, first_waiting FROM (
    SELECT o.id, (SELECT w.id FROM outbox w FORCE INDEX (outbox_ordered)
                  WHERE w.status = 'PENDING' AND w.shard = o.shard AND w.ordering_key = o.ordering_key AND w.channel = o.channel
                  ORDER BY w.id LIMIT 1) AS first_waiting
    FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
    STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'DEAD'
                                                AND COALESCE(o.dead_reason, '') <> 'cancelled'
    WHERE NOT EXISTS (
        SELECT 1 FROM outbox d FORCE INDEX (outbox_ordered)
        WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key AND d.channel = o.channel
          AND d.id < o.id AND COALESCE(d.dead_reason, '') <> 'cancelled')
) halting WHERE first_waiting > id
