-- The heads of the first ordering keys of a stretch, and of one more: see KeyStretch. The index is skipped through from key to key
-- where all its leading columns are grouped by, though two of them are constant; the status in the collation of its column, or MariaDB
-- takes it for none and sorts all that it read (1.4 s for 100,000 keys, 0.2 in order). Stepping as the other dialects do is
-- worse here: a range whose start is a column of an outer query is not a range to this optimizer (6 s for 100 keys).
--
-- A statement of its own, and never one that is prepared and kept: once MariaDB (10.11) has opened the table anew, which it
-- does by itself under load, a kept statement reads the rows too, so that nothing is skipped. Then 100,000 rows behind one
-- key took 80 ms of each claim.
SELECT MIN(id) AS id, channel, ordering_key FROM outbox FORCE INDEX (outbox_ordered)
WHERE status = 'PENDING' COLLATE utf8mb4_bin AND shard = ? AND ordering_key >= ? AND ordering_key <= ?
  AND (ordering_key > ? OR channel >= ?) AND (ordering_key < ? OR channel < ?)
GROUP BY status, shard, ordering_key, channel ORDER BY status, shard, ordering_key, channel LIMIT 513
