-- By id, as everywhere.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id char(36) CHARACTER SET utf8mb4 PATH '$')) named
STRAIGHT_JOIN outbox_claim c FORCE INDEX (PRIMARY) ON c.id = named.id
SET c.gate_closed_at = UTC_TIMESTAMP(6)
