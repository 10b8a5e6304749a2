DELETE FROM outbox_minute WHERE minutes = 1 AND begins_at >= to_timestamp($1::bigint)
  AND begins_at < to_timestamp($1::bigint + 3600)
