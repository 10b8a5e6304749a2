-- One migration of this database at a time; 1 once it is ours, 0 after two minutes. Released with the connection.
SELECT GET_LOCK(CONCAT('outbox.', LEFT(SHA2(DATABASE(), 256), 32)), 120)
