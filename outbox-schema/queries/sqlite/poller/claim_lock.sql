-- The term and whether this claim was made by an earlier try. Nobody else writes meanwhile.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made
FROM outbox_term t WHERE t.shard = ?2
