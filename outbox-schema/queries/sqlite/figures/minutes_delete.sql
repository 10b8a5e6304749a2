DELETE FROM outbox_minute WHERE minutes = 1 AND begins_at >= ?1 * 1000
  AND begins_at < (?1 + 3600) * 1000
