  -- Of these.
  AND destination IN (SELECT c.name FROM JSON_TABLE(?, '$[*]' COLUMNS (
                          name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) c)
