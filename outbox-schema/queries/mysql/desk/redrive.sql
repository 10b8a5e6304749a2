-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', due_us bigint PATH '$.due_us')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id
SET o.status = 'PENDING', o.revision = o.revision + 1, o.attempts = 0, o.dead_reason = NULL, o.error_hash = NULL,
    o.finished_at = NULL, o.first_attempt_at = NULL, o.deferred_from = NULL,
    o.available_at = GREATEST(UTC_TIMESTAMP(6), TIMESTAMP'1970-01-01 00:00:00' + INTERVAL asked.due_us MICROSECOND),
    o.expires_at = IF(o.expires_at <= UTC_TIMESTAMP(6), NULL, o.expires_at)
