SELECT count(*) AS total FROM outbox_invalid_target
WHERE ($1::text IS NULL OR channel = $1)
  AND ($2::json IS NULL OR target = ANY (ARRAY(SELECT json_array_elements_text($2::json))))
  AND ($3::bigint IS NULL
       OR observed_at <= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond')
