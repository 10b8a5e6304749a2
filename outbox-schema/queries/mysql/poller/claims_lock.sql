-- Locked by id, as everywhere, and no other claim on the way. The claims that are gone, settled or finished, are not among the
-- answers.
SELECT c.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
FOR UPDATE /*!80000 OF c */
