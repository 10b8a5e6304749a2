-- Where the operation stands after a batch, in the batch's transaction.
UPDATE outbox_operation
SET place = $2, done = $3, changed = $4, meant = $5, status = $6::text, failure = NULL,
    carried_until = clock_timestamp() + $7::bigint * interval '1 millisecond',
    ended_at = CASE $6::text WHEN 'open' THEN NULL ELSE clock_timestamp() END
WHERE id = $1
