-- Those of the asked that a claim names with their present revision: they may be in flight.
SELECT o.id
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = t.shard AND c.epoch >= t.unsettled_from
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
WHERE o.id IN (SELECT asked.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) asked)
