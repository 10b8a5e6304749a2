-- From now on this session waits for no lock; on MySQL, which waits for a second at least, no longer than that.
SET SESSION innodb_lock_wait_timeout = 1 /*M! * 0 */
