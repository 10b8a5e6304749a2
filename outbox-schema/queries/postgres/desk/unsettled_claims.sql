SELECT count(*)
FROM outbox_claim WHERE superseded_at IS NOT NULL
