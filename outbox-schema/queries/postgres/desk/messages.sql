-- Of the messages named, those that a filter means, the newest first.
SELECT o.id, o.idempotency_key, o.channel, o.target, o.destination, o.ordering_key, o.priority::integer AS priority,
       o.status, o.dead_reason, o.attempts::integer AS attempts, coalesce(to_char(o.available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.available_at) #>> '{}') AS available_at,
       coalesce(to_char(o.deferred_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.deferred_from) #>> '{}') AS deferred_from, coalesce(to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.created_at) #>> '{}') AS created_at,
       coalesce(to_char(o.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.finished_at) #>> '{}') AS finished_at, o.last_error, o.last_status_code, o.replay_of
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND ($2::text IS NULL OR o.status = $2) AND ($3::text IS NULL OR o.channel = $3)
  AND ($4::text IS NULL OR o.destination = $4) AND ($5::text IS NULL OR o.ordering_key = $5)
  AND ($6::bigint IS NULL OR o.priority = $6)
  AND ($7::bigint IS NULL
       OR o.created_at >= timestamptz '1970-01-01 00:00:00+00' + $7::bigint * interval '1 microsecond')
  AND ($8::bigint IS NULL
       OR o.created_at <= timestamptz '1970-01-01 00:00:00+00' + $8::bigint * interval '1 microsecond')
  AND ($10::text IS NULL OR o.target = $10)
  AND ($11::text IS NULL OR starts_with(o.idempotency_key, $11))
  AND ($12::text IS NULL OR o.tags @> $12::jsonb)
  AND ($13::text IS NULL OR coalesce(o.tenant, o.destination) = $13)
ORDER BY o.id DESC LIMIT $9
