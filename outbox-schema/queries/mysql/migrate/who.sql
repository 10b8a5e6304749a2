-- The account as GRANT names it, and the database of the tables. Whatever follows the last @ is the host.
SELECT CONCAT(QUOTE(LEFT(who, CHAR_LENGTH(who) - CHAR_LENGTH(SUBSTRING_INDEX(who, '@', -1)) - 1)), '@',
              QUOTE(SUBSTRING_INDEX(who, '@', -1))) AS role,
       CONCAT('`', REPLACE(COALESCE(DATABASE(), ''), '`', '``'), '`') AS place
FROM (SELECT CURRENT_USER() AS who) AS account
