-- Held until this claim has committed: whoever is to cancel waits for that. Not had: a cancellation is open, or may be. Locks
-- that row only; says beside it whether messages with an ordering key wait.
SELECT EXISTS (SELECT 1 FROM outbox o FORCE INDEX (outbox_ordered)
               WHERE o.status = 'PENDING' AND o.shard = c.shard AND o.ordering_key IS NOT NULL) AS keyed
FROM outbox_cancelling c WHERE c.shard = ? FOR UPDATE SKIP LOCKED
