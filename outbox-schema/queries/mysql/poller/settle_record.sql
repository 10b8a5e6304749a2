INSERT INTO outbox_attempt (message_id, number, epoch, holder, claimed_at, outcome, error)
SELECT d.message_id, d.number, c.epoch, c.holder, c.claimed_at, 'in_doubt', d.explanation
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    message_id bigint PATH '$.message_id', number integer PATH '$.number',
    claim char(36) CHARACTER SET utf8mb4 PATH '$.claim',
    explanation text CHARACTER SET utf8mb4 PATH '$.explanation')) d
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = d.claim
ORDER BY d.message_id
