-- Which rows may still be marked. The lock makes this a read of what is committed now, not of a snapshot. Nobody waits for a row that
-- somebody else has locked: all other marks would wait as well. Sent as text, as mark_delivered.sql is.
SELECT id FROM outbox FORCE INDEX (PRIMARY)
WHERE id IN (?) AND revision = ? AND status = 'PENDING' COLLATE utf8mb4_bin
FOR UPDATE SKIP LOCKED
