-- Those of the asked that a claim names with their present revision: they may be in flight.
SELECT o.id
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
CROSS JOIN json_each(c.message_ids) sent
CROSS JOIN outbox o ON o.id = sent.value AND o.revision = c.revisions ->> sent.key
WHERE o.id IN (SELECT value FROM json_each(?1))
