SELECT channel, extract(epoch FROM begins_at)::bigint / $2 * $2 AS at_s, max(lag_ms) AS lag_ms,
       sum(delivered)::bigint AS delivered, sum(failed)::bigint AS failed, sum(dead)::bigint AS dead,
       sum(in_doubt)::bigint AS in_doubt, sum(deferred)::bigint AS deferred, sum(ms_10)::bigint AS ms_10,
       sum(ms_25)::bigint AS ms_25, sum(ms_50)::bigint AS ms_50, sum(ms_100)::bigint AS ms_100,
       sum(ms_250)::bigint AS ms_250, sum(ms_500)::bigint AS ms_500, sum(ms_1000)::bigint AS ms_1000,
       sum(ms_2500)::bigint AS ms_2500, sum(ms_5000)::bigint AS ms_5000, sum(ms_10000)::bigint AS ms_10000,
       sum(ms_60000)::bigint AS ms_60000, sum(ms_600000)::bigint AS ms_600000, sum(ms_3600000)::bigint AS ms_3600000,
       sum(ms_more)::bigint AS ms_more
FROM outbox_minute WHERE begins_at >= to_timestamp($1::bigint) AND ($3::text IS NULL OR channel = $3)
GROUP BY channel, at_s ORDER BY channel, at_s
