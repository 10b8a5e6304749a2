-- One row changed: the lease is ?2's for the time to live, from now.
-- ?1 shard, ?2 holder, ?3 time to live in milliseconds
UPDATE outbox_lease
SET expires_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?3
WHERE shard = ?1 AND holder = ?2 AND expires_at > CAST(unixepoch('subsec') * 1000 AS INTEGER)
