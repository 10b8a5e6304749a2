-- A message of an ordering key that is in flight and comes after one of it: that one was redriven meanwhile, and waits.
SELECT o.id
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from OFFSET 0) c
CROSS JOIN LATERAL unnest(c.message_ids, c.revisions) AS sent(id, revision)
JOIN outbox o ON o.id = sent.id AND o.revision = sent.revision AND o.status = 'PENDING'
WHERE t.shard = $1 AND o.shard = t.shard AND o.channel = $2 AND o.ordering_key = $3 AND o.id > $4
ORDER BY o.id LIMIT 1
