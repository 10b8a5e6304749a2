INSERT INTO outbox_destination (destination, paused_until, paused_by, reason, failures)
SELECT m.paused, MAX(UTC_TIMESTAMP(6) + INTERVAL m.after_ms * 1000 MICROSECOND), 'dispatcher', MAX(m.error), 1
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    paused varchar(255) CHARACTER SET utf8mb4 PATH '$.paused', after_ms bigint PATH '$.after_ms',
    error text CHARACTER SET utf8mb4 PATH '$.error')) m
GROUP BY m.paused ORDER BY m.paused
ON DUPLICATE KEY UPDATE paused_until = VALUES(paused_until), paused_by = VALUES(paused_by), reason = VALUES(reason),
    failures = failures + 1
