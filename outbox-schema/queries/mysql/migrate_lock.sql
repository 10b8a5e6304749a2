-- One migration of this database at a time; 1 once it is ours, 0 after two minutes. Released with the connection.
SELECT GET_LOCK(CONCAT('outbox.', MD5(DATABASE())), 120)
