SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?2) AS made
FROM outbox_term t WHERE t.shard = ?1
