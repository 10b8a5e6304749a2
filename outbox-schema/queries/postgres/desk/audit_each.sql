-- An entry for each message of an operation: what is about to be overwritten, from which an undo takes it back.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT $1, $2, $3, o.id, jsonb_strip_nulls(jsonb_build_object(
           'idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision,
           'dead_reason', o.dead_reason, 'attempts', o.attempts, 'error_hash', o.error_hash,
           'available_at', CASE WHEN o.status = 'PENDING' THEN o.available_at END,
           'first_attempt_at', o.first_attempt_at, 'finished_at', o.finished_at, 'expires_at', o.expires_at))
FROM outbox o WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($4::json)::bigint)) ORDER BY o.id
