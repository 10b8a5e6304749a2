SELECT COUNT(*)
FROM outbox_term t
STRAIGHT_JOIN outbox_claim c FORCE INDEX (outbox_claim_of_term)
              ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE c.superseded_at IS NOT NULL
