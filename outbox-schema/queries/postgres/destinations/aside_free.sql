-- Due rows of destinations and channels that take nothing for now, locked. What is being cancelled must not keep it waiting.
SELECT o.id, o.destination::text, o.channel::text FROM outbox o
WHERE o.shard = $1 AND o.status = 'PENDING' AND o.ordering_key IS NULL AND o.priority BETWEEN 0 AND 3
  AND o.available_at <= now() AND o.id <> ALL (ARRAY(SELECT json_array_elements_text($3::json)::bigint))
  AND (o.destination = ANY (ARRAY(SELECT json_array_elements_text($2::json)))
       OR o.channel = ANY (ARRAY(SELECT json_array_elements_text($5::json))))
LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
