-- Locks those of the asked that nobody else has locked, and says how they stand: what somebody has locked is being
-- cancelled in an open transaction, which is not waited for.
SELECT o.id, o.revision FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o ON o.id = asked.id AND o.status = 'PENDING'
FOR UPDATE SKIP LOCKED
