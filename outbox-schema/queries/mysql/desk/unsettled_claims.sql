SELECT COUNT(*)
FROM outbox_claim WHERE superseded_at IS NOT NULL
