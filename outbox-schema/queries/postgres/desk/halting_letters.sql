-- Those of the asked that halt their ordering key where its channel says so, and the first message that waits behind each.
SELECT o.id, head.id AS first_waiting
FROM outbox o CROSS JOIN LATERAL (
    SELECT w.id FROM outbox w
    WHERE w.shard = o.shard AND w.channel = o.channel AND w.ordering_key = o.ordering_key AND w.status = 'PENDING'
      AND hashtextextended(w.ordering_key, hashtextextended(w.channel, 0))
        = hashtextextended(o.ordering_key, hashtextextended(o.channel, 0))
    ORDER BY w.id LIMIT 1
) head
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
  AND o.dead_reason IS DISTINCT FROM 'cancelled' AND head.id > o.id
  AND NOT EXISTS (
      SELECT FROM outbox d
      WHERE d.shard = o.shard AND d.channel = o.channel AND d.ordering_key = o.ordering_key AND d.id < o.id
        AND d.status = 'DEAD' AND d.dead_reason IS DISTINCT FROM 'cancelled')
