-- The rights of the session to each column of a table that it may see, such as 'select,insert'.
SELECT CAST(privileges AS char(255)) AS privileges
FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?
