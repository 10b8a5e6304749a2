-- Claims are locked in the order of their ids, as marks lock them, but not by the index of all ids: a snapshot that is held open
-- keeps there what has gone.
WITH own AS (
    SELECT id FROM outbox_claim WHERE shard = $1 AND epoch = $2 AND holder = $3 AND gate_closed_at IS NULL
    ORDER BY id::text COLLATE "C" FOR UPDATE
)
UPDATE outbox_claim SET gate_closed_at = clock_timestamp() WHERE id = ANY (ARRAY(SELECT id FROM own))
