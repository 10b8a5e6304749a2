SELECT count(*)
FROM outbox_term t
-- By the index of claims, however few of them PostgreSQL takes the table to have.
CROSS JOIN LATERAL (
    SELECT * FROM outbox_claim c
    WHERE c.shard = t.shard AND c.epoch >= t.unsettled_from AND c.epoch < t.epoch AND c.superseded_at IS NOT NULL OFFSET 0) c
