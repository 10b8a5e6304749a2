-- Held until this claim has committed: whoever is to cancel waits for that. Not had: a cancellation is open, or may be. Locks
-- that row only.
SELECT shard FROM outbox_cancelling WHERE shard = ? FOR UPDATE SKIP LOCKED
