-- What an edit may change of the asked. Their rows are locked by now. No payload is read that is larger than one may be.
SELECT id, idempotency_key, channel, target, CASE WHEN payload_bytes <= $2 THEN payload::text END AS payload, headers::text AS headers, revision
FROM outbox WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) ORDER BY id
