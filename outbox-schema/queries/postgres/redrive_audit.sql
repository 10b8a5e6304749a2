-- What the redrive is about to overwrite.
INSERT INTO outbox_audit (who, action, why, message_id, details)
SELECT $1, 'redrive', $2, o.id, jsonb_build_object(
           'dead_reason', o.dead_reason, 'attempts', o.attempts,
           'expires_at_cleared', CASE WHEN o.expires_at <= now() THEN to_json(o.expires_at) END)
FROM outbox o WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($3::json)::bigint)) ORDER BY o.id
