-- Back to what the entries of the redrive say that it overwrote.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox_audit a FORCE INDEX (PRIMARY) ON a.id = asked.id
STRAIGHT_JOIN JSON_TABLE(a.details, '$' COLUMNS (
    dead_reason varchar(32) CHARACTER SET utf8mb4 PATH '$.dead_reason', attempts smallint PATH '$.attempts',
    error_hash varchar(16) CHARACTER SET utf8mb4 PATH '$.error_hash',
    first_attempt_at varchar(32) CHARACTER SET utf8mb4 PATH '$.first_attempt_at',
    finished_at varchar(32) CHARACTER SET utf8mb4 PATH '$.finished_at',
    expires_at varchar(32) CHARACTER SET utf8mb4 PATH '$.expires_at')) was
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = a.message_id
SET o.status = 'DEAD', o.revision = o.revision + 1, o.deferred_from = NULL,
    o.dead_reason = was.dead_reason, o.attempts = was.attempts, o.error_hash = was.error_hash,
    o.first_attempt_at = STR_TO_DATE(was.first_attempt_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
    o.finished_at = STR_TO_DATE(was.finished_at, '%Y-%m-%dT%H:%i:%s.%fZ'),
    o.expires_at = STR_TO_DATE(was.expires_at, '%Y-%m-%dT%H:%i:%s.%fZ')
