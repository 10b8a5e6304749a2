-- What an edit of many may change of the asked, which is not their payload. Their rows are locked by now.
SELECT id, idempotency_key, channel, target, headers::text AS headers, revision
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id
