-- The term and whether a claim was made, as they are without waiting for anybody.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made FROM outbox_term t WHERE t.shard = ?2
