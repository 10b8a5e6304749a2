-- A new life: attempts and age start anew. An expiry that has passed would end it at once.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o ON o.id = asked.id
SET o.status = 'PENDING', o.revision = o.revision + 1, o.attempts = 0, o.dead_reason = NULL, o.finished_at = NULL,
    o.first_attempt_at = NULL, o.available_at = UTC_TIMESTAMP(6), o.deferred_from = NULL,
    o.expires_at = IF(o.expires_at <= UTC_TIMESTAMP(6), NULL, o.expires_at)
