SELECT shard::bigint AS shard, extract(epoch FROM begins_at)::bigint AS at_s, channel, lag_ms, delivered, failed,
       dead, in_doubt, deferred, ms_10, ms_25, ms_50, ms_100, ms_250, ms_500, ms_1000, ms_2500, ms_5000, ms_10000,
       ms_60000, ms_600000, ms_3600000, ms_more
FROM outbox_minute WHERE minutes = 1 AND begins_at >= to_timestamp($1::bigint)
  AND begins_at < to_timestamp($1::bigint + 3600)
ORDER BY begins_at, shard, channel FOR UPDATE
