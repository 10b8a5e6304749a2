-- Targets that are known to be gone, the last recorded first.
SELECT id, channel, target, reason, coalesce(to_char(observed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(observed_at) #>> '{}') AS observed_at FROM outbox_invalid_target
WHERE ($1::text IS NULL OR channel = $1)
  AND ($2::json IS NULL OR target = ANY (ARRAY(SELECT json_array_elements_text($2::json))))
  AND ($3::bigint IS NULL
       OR observed_at <= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond')
  AND id < $4
ORDER BY id DESC LIMIT $5
