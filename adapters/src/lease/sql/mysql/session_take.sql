-- Has the lock where no session has it. Such locks are the server's: a copy of the database on the same server has others. A proxy may
-- have kept the time limit of the session from the server: then not.
-- time limit in seconds, lock
SELECT IF(@@SESSION.wait_timeout = ?, coalesce(GET_LOCK(SHA2(CONCAT(LOWER(DATABASE()), ' ', ?), 256), 0), 0) = 1, 0) AS had
