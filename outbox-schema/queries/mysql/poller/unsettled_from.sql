-- The lowest epoch of which a claim is left, or else the given one. Not locked here: see unsuperseded.sql.
SELECT COALESCE(MIN(c.epoch), ?2)
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term) ON c.shard = ?1 AND c.epoch >= t.unsettled_from
WHERE t.shard = ?1
