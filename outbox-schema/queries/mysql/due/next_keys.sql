-- The next ordering keys of the ring. The index is skipped through from key to key where all its leading columns are grouped
-- by, though two of them are constant; the status in the collation of its column, or MariaDB takes it for none and sorts all
-- that it read. Stepping as SQLite does is worse here: a range whose start is a column of an outer query is not a range to this
-- optimizer.
--
-- A statement that is never prepared and kept: once MariaDB (10.11) has opened the table anew, which it does by itself under
-- load, a kept statement reads the rows too, so that nothing is skipped.
SELECT channel, ordering_key FROM outbox FORCE INDEX (outbox_ordered)
WHERE status = 'PENDING' COLLATE utf8mb4_bin AND shard = ? AND ordering_key >= ? AND (ordering_key > ? OR channel > ?)
GROUP BY status, shard, ordering_key, channel ORDER BY status, shard, ordering_key, channel LIMIT ?
