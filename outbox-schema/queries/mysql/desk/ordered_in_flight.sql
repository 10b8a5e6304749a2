-- A message of an ordering key that is in flight and comes after one of it: that one was redriven meanwhile, and waits.
SELECT o.id
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = ?1 AND c.epoch >= t.unsettled_from
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE t.shard = ?1 AND o.shard = ?1 AND o.channel = ?2 AND o.ordering_key = ?3 AND o.id > ?4
ORDER BY o.id LIMIT 1
