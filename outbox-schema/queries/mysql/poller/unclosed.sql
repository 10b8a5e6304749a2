-- The claims of a term that has ended. Not locked here: see unsuperseded.sql.
SELECT id FROM outbox_claim FORCE INDEX (outbox_claim_of_term)
WHERE shard = ? AND epoch = ? AND holder = ? AND gate_closed_at IS NULL ORDER BY id
