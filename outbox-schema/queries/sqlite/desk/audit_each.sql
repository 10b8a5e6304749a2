-- An entry for each message of an operation: what is about to be overwritten, from which an undo takes it back.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, o.id, json_object(
           'idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision,
           'dead_reason', o.dead_reason, 'attempts', o.attempts, 'error_hash', o.error_hash,
           'available_at', CASE WHEN o.status = 'PENDING' THEN strftime('%Y-%m-%dT%H:%M:%fZ', o.available_at / 1000.0, 'unixepoch') END,
           'first_attempt_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.first_attempt_at / 1000.0, 'unixepoch'),
           'finished_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.finished_at / 1000.0, 'unixepoch'),
           'expires_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.expires_at / 1000.0, 'unixepoch'))
FROM outbox o WHERE o.id IN (SELECT value FROM json_each(?4)) ORDER BY o.id
