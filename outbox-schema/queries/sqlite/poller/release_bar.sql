-- Claim nothing under an id, so that nothing else can be claimed under it: the statement of a claim that was given up may be under
-- way. Whoever settles finds nothing left to decide, and removes it.
INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                          at_most_once)
SELECT ?1, t.shard, t.epoch, t.holder, '[]', '[]', CAST(round(unixepoch('subsec') * 1000) AS INTEGER), 0, 0, '[]'
FROM outbox_term t WHERE t.shard = ?2
ON CONFLICT (id) DO NOTHING
