-- The columns of a table that the session may see, each with its rights to it, such as 'select,insert'.
SELECT CAST(column_name AS char(64)) AS name, CAST(privileges AS char(255)) AS privileges
FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?
