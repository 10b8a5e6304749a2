-- The rows that were just written, by their keys: which repeats which.
SELECT id, replay_of FROM outbox WHERE idempotency_key IN (SELECT value FROM json_each(?1)) ORDER BY id
