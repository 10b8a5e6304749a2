-- Due now. Attempts and age stay: they go on.
UPDATE outbox SET available_at = clock_timestamp(), revision = revision + 1
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
