-- One that was found to be gone once more since it was chosen by its age stays.
DELETE FROM outbox_invalid_target
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
  AND ($2::bigint IS NULL
       OR observed_at <= timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond')
