INSERT INTO outbox_invalid_target (channel, target, reason)
SELECT o.channel, o.target, m.error
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    id bigint PATH '$.id', error text CHARACTER SET utf8mb4 PATH '$.error')) m
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id
ON DUPLICATE KEY UPDATE reason = VALUES(reason), observed_at = VALUES(observed_at)
