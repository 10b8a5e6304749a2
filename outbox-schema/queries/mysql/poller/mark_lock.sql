-- Which rows may still be marked. The lock makes this a read of what is committed now, not of a snapshot. Nobody waits for a row that
-- somebody else has locked: all other marks would wait as well.
SELECT o.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', revision integer PATH '$.revision')) m
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
/*M! FOR UPDATE */ /*!80000 FOR UPDATE OF o */ SKIP LOCKED
