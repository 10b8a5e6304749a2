  -- Of these.
  AND destination IN (SELECT json_array_elements_text($1::json))
