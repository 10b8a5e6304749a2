-- Of these claims, those of which something is left to decide: its row is locked, or refuses the decision.
SELECT DISTINCT c.id
FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
STRAIGHT_JOIN JSON_TABLE(c.message_ids, '$[*]' COLUMNS (place FOR ORDINALITY, id bigint PATH '$')) sent
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = sent.id AND o.status = 'PENDING'
                      AND o.revision = JSON_EXTRACT(c.revisions, CONCAT('$[', sent.place - 1, ']'))
