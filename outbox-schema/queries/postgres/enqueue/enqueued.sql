-- A statement of its own: that of the insert began before the duplicate was committed and would not see it.
SELECT id, idempotency_key FROM outbox WHERE idempotency_key = ANY (ARRAY(SELECT json_array_elements_text($1::json)))
