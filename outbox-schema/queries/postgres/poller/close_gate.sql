-- Claims are locked in the order of their ids, as marks lock them.
WITH own AS (
    SELECT id FROM outbox_claim WHERE shard = $1 AND epoch = $2 AND holder = $3 AND gate_closed_at IS NULL ORDER BY id FOR UPDATE
)
UPDATE outbox_claim c SET gate_closed_at = clock_timestamp() FROM own WHERE c.id = own.id
