-- What somebody paused by hand stays paused. Of two other pauses the one that ends later counts; a breaker stays one
-- until it closes, or nobody would try it carefully. Assignments are made from left to right: a kind that is not kept is
-- not `hand` for those after it.
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, failures)
SELECT m.paused, UTC_TIMESTAMP(6) + INTERVAL m.paused_ms * 1000 MICROSECOND, 'dispatcher', m.kind, m.error,
       m.kind = 'breaker'
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    paused varchar(255) CHARACTER SET utf8mb4 PATH '$.paused', paused_ms bigint PATH '$.paused_ms',
    kind varchar(16) CHARACTER SET utf8mb4 PATH '$.pause_kind',
    error text CHARACTER SET utf8mb4 PATH '$.error')) m
ORDER BY m.paused
ON DUPLICATE KEY UPDATE
    pause_kind = CASE WHEN pause_kind <=> 'hand' AND paused_until > UTC_TIMESTAMP(6) THEN 'hand'
                      WHEN 'breaker' IN (pause_kind, VALUES(pause_kind)) THEN 'breaker'
                      WHEN paused_until > VALUES(paused_until) THEN pause_kind ELSE VALUES(pause_kind) END,
    failures = IF(pause_kind <=> 'hand', failures, failures + VALUES(failures)),
    paused_by = IF(pause_kind <=> 'hand' OR paused_until > VALUES(paused_until), paused_by, VALUES(paused_by)),
    reason = IF(pause_kind <=> 'hand' OR paused_until > VALUES(paused_until), reason, VALUES(reason)),
    paused_until = IF(pause_kind <=> 'hand' OR paused_until > VALUES(paused_until), paused_until, VALUES(paused_until))
