SELECT shard, TIMESTAMPDIFF(SECOND, '1970-01-01', begins_at) AS at_s, channel, lag_ms, delivered, failed, dead,
       in_doubt, deferred, ms_10, ms_25, ms_50, ms_100, ms_250, ms_500, ms_1000, ms_2500, ms_5000, ms_10000, ms_60000,
       ms_600000, ms_3600000, ms_more
FROM outbox_minute WHERE minutes = 1 AND begins_at >= TIMESTAMPADD(SECOND, ?1, '1970-01-01')
  AND begins_at < TIMESTAMPADD(SECOND, ?1 + 3600, '1970-01-01')
ORDER BY begins_at, shard, channel FOR UPDATE
