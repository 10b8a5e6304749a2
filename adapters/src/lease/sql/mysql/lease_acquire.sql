-- Takes the lease where nobody holds it; lease_holds.sql says whether it did.
-- shard, holder, time to live in microseconds, holder, time to live in microseconds
--
-- Assignments see those before them: the time is last, since both ask it.
INSERT INTO outbox_lease (shard, holder, expires_at)
VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
ON DUPLICATE KEY UPDATE
    holder = IF(expires_at <= UTC_TIMESTAMP(6), ?, holder),
    expires_at = IF(expires_at <= UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, expires_at)
