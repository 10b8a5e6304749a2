DELETE FROM outbox_minute WHERE minutes = 1 AND begins_at >= TIMESTAMPADD(SECOND, ?1, '1970-01-01')
  AND begins_at < TIMESTAMPADD(SECOND, ?1 + 3600, '1970-01-01')
