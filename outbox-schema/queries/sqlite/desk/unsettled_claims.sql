SELECT count(*)
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch
WHERE c.superseded_at IS NOT NULL
