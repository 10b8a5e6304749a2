-- The lanes of some numbers (a range of them, or a list), each with the priorities of its rows. The index is skipped through
-- from one to the next: see next_keys.sql.
SELECT turn, priority, MIN(available_at) <= UTC_TIMESTAMP(6) AS due FROM outbox FORCE INDEX (outbox_turns)
WHERE shard = ? AND turn ? GROUP BY shard, turn, priority LIMIT ?
