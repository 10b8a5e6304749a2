-- For the first term of a shard. Locks the row exclusively also where it exists by now. INSERT IGNORE would lock it shared, and
-- two campaigners that then both want it exclusively are a deadlock.
INSERT INTO outbox_term (shard, epoch, holder, started_at) VALUES (?, 0, '', UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE shard = VALUES(shard)
