-- Which rows may still be marked. The lock makes this a read of what is committed now, not of a snapshot.
SELECT o.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$.id', revision integer PATH '$.revision')) m
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = m.id AND o.revision = m.revision AND o.status = 'PENDING'
FOR UPDATE /*!80000 OF o */
