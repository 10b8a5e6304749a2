-- The reason of a pause that is on says more.
INSERT INTO outbox_destination (destination, aside_until, reason)
SELECT kept.destination, UTC_TIMESTAMP(6) + INTERVAL 1000 * kept.ms MICROSECOND, kept.reason
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    destination varchar(255) CHARACTER SET utf8mb4 PATH '$.destination', ms bigint PATH '$.ms',
    reason text CHARACTER SET utf8mb4 PATH '$.reason')) kept
ORDER BY kept.destination
ON DUPLICATE KEY UPDATE
    aside_until = GREATEST(COALESCE(aside_until, VALUES(aside_until)), VALUES(aside_until)),
    reason = IF(paused_until > UTC_TIMESTAMP(6), outbox_destination.reason,
                COALESCE(VALUES(reason), outbox_destination.reason))
