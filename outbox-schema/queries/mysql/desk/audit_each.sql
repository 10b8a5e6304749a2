-- An entry for each message of an operation: what is about to be overwritten, from which an undo takes it back.
INSERT INTO outbox_audit (who, action, part_of, message_id, details)
SELECT ?1, ?2, ?3, o.id, JSON_OBJECT(
           'idempotency_key', o.idempotency_key, 'channel', o.channel, 'revision', o.revision,
           'dead_reason', o.dead_reason, 'attempts', o.attempts, 'error_hash', o.error_hash,
           'available_at', IF(o.status = 'PENDING', DATE_FORMAT(o.available_at, '%Y-%m-%dT%H:%i:%s.%fZ'), NULL),
           'first_attempt_at', DATE_FORMAT(o.first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
           'finished_at', DATE_FORMAT(o.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
           'expires_at', DATE_FORMAT(o.expires_at, '%Y-%m-%dT%H:%i:%s.%fZ'))
FROM JSON_TABLE(?4, '$[*]' COLUMNS (id bigint PATH '$')) AS asked STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
