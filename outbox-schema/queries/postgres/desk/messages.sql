-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority::integer AS priority,
       o.status, o.dead_reason, o.attempts::integer AS attempts, coalesce(to_char(o.available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.available_at) #>> '{}') AS available_at,
       coalesce(to_char(o.deferred_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.deferred_from) #>> '{}') AS deferred_from, coalesce(to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.created_at) #>> '{}') AS created_at,
       coalesce(to_char(o.first_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.first_attempt_at) #>> '{}') AS first_attempt_at,
       coalesce(to_char(o.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.finished_at) #>> '{}') AS finished_at, o.last_error, o.last_status_code, o.replay_of
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
