-- Those of the asked that halt their ordering key where its channel says so, and the first message that waits behind each.
SELECT id, first_waiting FROM (
    SELECT o.id, (SELECT w.id FROM outbox w INDEXED BY outbox_ordered
                  WHERE w.shard = o.shard AND w.channel = o.channel AND w.ordering_key = o.ordering_key AND w.status = 'PENDING'
                  ORDER BY w.id LIMIT 1) AS first_waiting
    FROM outbox o
    WHERE o.id IN (SELECT value FROM json_each(?1)) AND o.status = 'DEAD' AND o.dead_reason IS NOT 'cancelled'
      AND NOT EXISTS (
          SELECT 1 FROM outbox d INDEXED BY outbox_halting
          WHERE d.shard = o.shard AND d.channel = o.channel AND d.ordering_key = o.ordering_key AND d.id < o.id
            AND d.status = 'DEAD' AND d.dead_reason IS NOT 'cancelled')
) WHERE first_waiting > id
