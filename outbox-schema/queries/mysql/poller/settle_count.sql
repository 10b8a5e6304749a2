-- How many messages were settled, in the log of the term that left each in doubt.
UPDATE (
    SELECT c.shard, c.epoch, COUNT(*) AS messages
    FROM JSON_TABLE(?, '$[*]' COLUMNS (claim char(36) CHARACTER SET utf8mb4 PATH '$.claim')) d
    STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = d.claim
    GROUP BY c.shard, c.epoch) their
STRAIGHT_JOIN outbox_term_log l FORCE INDEX (PRIMARY) ON l.shard = their.shard AND l.epoch = their.epoch
SET l.in_doubt = COALESCE(l.in_doubt, 0) + their.messages
