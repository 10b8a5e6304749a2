-- The first waiting rows of an ordering key, due or not. TRUE: dead letters of its channel do not halt it.
FROM outbox o FORCE INDEX (outbox_ordered)
WHERE o.status = 'PENDING' AND o.shard = ? AND o.ordering_key = ? AND o.channel = ?
  AND (? OR COALESCE((SELECT d.id FROM outbox d FORCE INDEX (outbox_ordered)
                      WHERE d.status = 'DEAD' AND d.shard = o.shard AND d.ordering_key = o.ordering_key
                        AND d.channel = o.channel AND COALESCE(d.dead_reason, '') <> 'cancelled'
                      ORDER BY d.id LIMIT 1), o.id) >= o.id)
ORDER BY o.id LIMIT ?
