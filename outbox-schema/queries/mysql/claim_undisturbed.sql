-- Held until this claim has committed: whoever is to cancel waits for that. Not had: a cancellation is open, or may be.
SELECT c.shard FROM outbox_cancelling c WHERE c.shard = ? FOR UPDATE SKIP LOCKED
