-- What an edit may change of the asked. Their rows are locked by now.
SELECT id, idempotency_key, channel, target, payload::text AS payload, headers::text AS headers, revision
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id
