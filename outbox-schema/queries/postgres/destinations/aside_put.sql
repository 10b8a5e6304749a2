UPDATE outbox o
SET deferred_from = coalesce(o.deferred_from, o.available_at), available_at = now() + put.ms * interval '1 ms'
FROM json_to_recordset($1::json) AS put(id bigint, ms bigint)
WHERE o.id = put.id AND o.status = 'PENDING'
