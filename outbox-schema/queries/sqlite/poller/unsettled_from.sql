-- The lowest epoch of which a claim is left, or else the given one.
SELECT coalesce(min(c.epoch), ?2)
FROM outbox_term t
CROSS JOIN outbox_claim c ON c.shard = t.shard AND c.epoch >= t.unsettled_from
WHERE t.shard = ?1
