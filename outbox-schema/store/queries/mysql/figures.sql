-- name: add
INSERT INTO outbox_minute
    (shard, begins_at, minutes, channel, lag_ms, delivered, failed, dead, in_doubt, deferred, ms_10, ms_25, ms_50,
     ms_100, ms_250, ms_500, ms_1000, ms_2500, ms_5000, ms_10000, ms_60000, ms_600000, ms_3600000, ms_more)
VALUES (?1, TIMESTAMPADD(SECOND, ?2, '1970-01-01'), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
        ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)
ON DUPLICATE KEY UPDATE
    lag_ms = IF(lag_ms > COALESCE(VALUES(lag_ms), -1), lag_ms, VALUES(lag_ms)),
    delivered = delivered + VALUES(delivered), failed = failed + VALUES(failed), dead = dead + VALUES(dead),
    in_doubt = in_doubt + VALUES(in_doubt), deferred = deferred + VALUES(deferred), ms_10 = ms_10 + VALUES(ms_10),
    ms_25 = ms_25 + VALUES(ms_25), ms_50 = ms_50 + VALUES(ms_50), ms_100 = ms_100 + VALUES(ms_100),
    ms_250 = ms_250 + VALUES(ms_250), ms_500 = ms_500 + VALUES(ms_500), ms_1000 = ms_1000 + VALUES(ms_1000),
    ms_2500 = ms_2500 + VALUES(ms_2500), ms_5000 = ms_5000 + VALUES(ms_5000), ms_10000 = ms_10000 + VALUES(ms_10000),
    ms_60000 = ms_60000 + VALUES(ms_60000), ms_600000 = ms_600000 + VALUES(ms_600000),
    ms_3600000 = ms_3600000 + VALUES(ms_3600000), ms_more = ms_more + VALUES(ms_more)

-- name: hour
-- The hour of the oldest minute, in seconds since 1970, where its last minute is old enough to be rolled up.
SELECT MIN(TIMESTAMPDIFF(SECOND, '1970-01-01', begins_at)) DIV 3600 * 3600 AS begins_s FROM outbox_minute
WHERE minutes = 1 AND begins_at < TIMESTAMPADD(
    SECOND, (TIMESTAMPDIFF(SECOND, '1970-01-01', UTC_TIMESTAMP()) - ?1) DIV 3600 * 3600, '1970-01-01')

-- name: minutes
SELECT shard, TIMESTAMPDIFF(SECOND, '1970-01-01', begins_at) AS at_s, channel, lag_ms, delivered, failed, dead,
       in_doubt, deferred, ms_10, ms_25, ms_50, ms_100, ms_250, ms_500, ms_1000, ms_2500, ms_5000, ms_10000, ms_60000,
       ms_600000, ms_3600000, ms_more
FROM outbox_minute WHERE minutes = 1 AND begins_at >= TIMESTAMPADD(SECOND, ?1, '1970-01-01')
  AND begins_at < TIMESTAMPADD(SECOND, ?1 + 3600, '1970-01-01')
ORDER BY begins_at, shard, channel FOR UPDATE

-- name: minutes_delete
DELETE FROM outbox_minute WHERE minutes = 1 AND begins_at >= TIMESTAMPADD(SECOND, ?1, '1970-01-01')
  AND begins_at < TIMESTAMPADD(SECOND, ?1 + 3600, '1970-01-01')

-- name: remove
DELETE FROM outbox_minute WHERE begins_at < UTC_TIMESTAMP() - INTERVAL ?1 SECOND
