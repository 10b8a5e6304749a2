-- Whether this session has the lock, with that time limit.
-- time limit in seconds, lock
SELECT @@SESSION.wait_timeout = ?
       AND coalesce(IS_USED_LOCK(SHA2(CONCAT(LOWER(DATABASE()), ' ', ?), 256)) = CONNECTION_ID(), 0) AS had
