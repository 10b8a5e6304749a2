-- Locks the term row only. Whether this claim was made by an earlier try may be read too early here: then its
-- insert, which is unique, fails, and the next try finds it.
SELECT t.epoch, t.holder, EXISTS (SELECT 1 FROM outbox_claim c WHERE c.id = ?1) AS made
FROM outbox_term t WHERE t.shard = ?2 LOCK IN SHARE MODE
