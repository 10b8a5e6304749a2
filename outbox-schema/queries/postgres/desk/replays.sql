-- The rows that were just written, by their keys: which repeats which.
SELECT id, replay_of FROM outbox WHERE idempotency_key = ANY (ARRAY(SELECT json_array_elements_text($1::json))) ORDER BY id
