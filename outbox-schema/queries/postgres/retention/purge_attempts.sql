DELETE FROM outbox_attempt WHERE message_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))
