SELECT channel, begins_at / 1000 / ?2 * ?2 AS at_s, max(lag_ms) AS lag_ms, sum(delivered) AS delivered, sum(failed) AS failed,
       sum(dead) AS dead, sum(in_doubt) AS in_doubt, sum(deferred) AS deferred, sum(ms_10) AS ms_10,
       sum(ms_25) AS ms_25, sum(ms_50) AS ms_50, sum(ms_100) AS ms_100, sum(ms_250) AS ms_250, sum(ms_500) AS ms_500,
       sum(ms_1000) AS ms_1000, sum(ms_2500) AS ms_2500, sum(ms_5000) AS ms_5000, sum(ms_10000) AS ms_10000,
       sum(ms_60000) AS ms_60000, sum(ms_600000) AS ms_600000, sum(ms_3600000) AS ms_3600000, sum(ms_more) AS ms_more
FROM outbox_minute WHERE begins_at >= ?1 * 1000 AND (?3 IS NULL OR channel = ?3)
GROUP BY channel, at_s ORDER BY channel, at_s
