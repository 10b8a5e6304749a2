-- Gives the lock up. Whether this session had it.
-- lock
SELECT coalesce(RELEASE_LOCK(SHA2(CONCAT(LOWER(DATABASE()), ' ', ?), 256)), 0) = 1 AS had
