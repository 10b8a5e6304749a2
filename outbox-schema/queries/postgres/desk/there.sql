-- Those of the asked that are there, whoever holds them.
SELECT id FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
