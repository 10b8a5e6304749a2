UPDATE outbox SET available_at = deferred_from, deferred_from = NULL
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND deferred_from IS NOT NULL
