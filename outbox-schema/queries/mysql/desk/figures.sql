SELECT channel, TIMESTAMPDIFF(SECOND, '1970-01-01', begins_at) DIV ?2 * ?2 AS at_s, max(lag_ms) AS lag_ms,
       CAST(SUM(delivered) AS SIGNED) AS delivered, CAST(SUM(failed) AS SIGNED) AS failed,
       CAST(SUM(dead) AS SIGNED) AS dead, CAST(SUM(in_doubt) AS SIGNED) AS in_doubt,
       CAST(SUM(deferred) AS SIGNED) AS deferred, CAST(SUM(ms_10) AS SIGNED) AS ms_10,
       CAST(SUM(ms_25) AS SIGNED) AS ms_25, CAST(SUM(ms_50) AS SIGNED) AS ms_50,
       CAST(SUM(ms_100) AS SIGNED) AS ms_100, CAST(SUM(ms_250) AS SIGNED) AS ms_250,
       CAST(SUM(ms_500) AS SIGNED) AS ms_500, CAST(SUM(ms_1000) AS SIGNED) AS ms_1000,
       CAST(SUM(ms_2500) AS SIGNED) AS ms_2500, CAST(SUM(ms_5000) AS SIGNED) AS ms_5000,
       CAST(SUM(ms_10000) AS SIGNED) AS ms_10000, CAST(SUM(ms_60000) AS SIGNED) AS ms_60000,
       CAST(SUM(ms_600000) AS SIGNED) AS ms_600000, CAST(SUM(ms_3600000) AS SIGNED) AS ms_3600000,
       CAST(SUM(ms_more) AS SIGNED) AS ms_more
FROM outbox_minute WHERE begins_at >= TIMESTAMPADD(SECOND, ?1, '1970-01-01') AND (?3 IS NULL OR channel = ?3)
GROUP BY channel, at_s ORDER BY channel, at_s
