  -- Of these.
  AND destination IN (SELECT value FROM json_each(?1))
