-- The claims of the last term, which one that begins supersedes. It holds the row of the shard's term, so that there can be no
-- more of them. Not locked here: a read that locks would wait for each claim of each shard on its way, in whatever order it comes
-- by them.
SELECT id FROM outbox_claim FORCE INDEX (outbox_claim_of_term)
WHERE shard = ? AND epoch = ? AND superseded_at IS NULL ORDER BY id
