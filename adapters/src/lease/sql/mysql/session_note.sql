-- Writes down who has the lock.
-- shard, holder, time to live in microseconds, holder, time to live in microseconds
INSERT INTO outbox_lease (shard, holder, expires_at)
VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
ON DUPLICATE KEY UPDATE holder = ?, expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
