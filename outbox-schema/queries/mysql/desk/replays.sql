-- The rows that were just written, by their keys: which repeats which.
SELECT o.id, o.replay_of
FROM JSON_TABLE(?, '$[*]' COLUMNS (idempotency_key varchar(255) CHARACTER SET utf8mb4 PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (outbox_idempotency_key) ON o.idempotency_key = asked.idempotency_key ORDER BY o.id
