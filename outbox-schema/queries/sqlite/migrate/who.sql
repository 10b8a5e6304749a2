-- SQLite has no roles.
SELECT '' AS role, '' AS place
