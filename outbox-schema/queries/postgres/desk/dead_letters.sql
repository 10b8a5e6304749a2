SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.dead_reason, o.attempts::integer AS attempts, o.last_error,
       o.last_status_code, o.fingerprint, o.ordering_key,
       coalesce(to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.created_at) #>> '{}') AS created_at,
       coalesce(to_char(o.dead_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.dead_at) #>> '{}') AS dead_at,
       (extract(epoch FROM o.dead_at) * 1000000)::bigint AS dead_at_us
FROM outbox o WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
ORDER BY o.dead_at DESC, o.id DESC
