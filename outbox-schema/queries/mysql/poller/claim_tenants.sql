-- Whose turn it may be: the tenants of a channel in a stretch of its ring, and when the first row of each of their priorities is
-- due. The index is skipped through from one to the next, as for the heads of ordering keys: see claim_heads.sql.
(SELECT turn, priority, CAST(MIN(available_at) AS CHAR) AS due_at FROM outbox FORCE INDEX (outbox_turns)
 WHERE shard = ? AND turn >= CAST((CRC32(?) & 32767) << 32 AS SIGNED) + ?
   AND turn < CAST((CRC32(?) & 32767) << 32 AS SIGNED) + ?
 GROUP BY shard, turn, priority LIMIT ?)
