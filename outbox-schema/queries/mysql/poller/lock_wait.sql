-- As session.sql has it.
SET SESSION innodb_lock_wait_timeout = 5
