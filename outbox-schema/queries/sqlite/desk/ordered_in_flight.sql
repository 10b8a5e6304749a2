-- A message of an ordering key that is in flight and comes after one of it: that one was redriven meanwhile, and waits.
SELECT o.id
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
CROSS JOIN json_each(c.message_ids) AS sent
CROSS JOIN outbox o ON o.id = sent.value AND o.status = 'PENDING'
                   AND o.revision = json_extract(c.revisions, '$[' || sent.key || ']')
WHERE t.shard = ?1 AND o.shard = t.shard AND o.channel = ?2 AND o.ordering_key = ?3 AND o.id > ?4
ORDER BY o.id LIMIT 1
