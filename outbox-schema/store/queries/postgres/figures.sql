-- name: add
INSERT INTO outbox_minute AS kept
    (shard, begins_at, minutes, channel, lag_ms, delivered, failed, dead, in_doubt, deferred, ms_10, ms_25, ms_50,
     ms_100, ms_250, ms_500, ms_1000, ms_2500, ms_5000, ms_10000, ms_60000, ms_600000, ms_3600000, ms_more)
VALUES ($1::bigint::smallint, to_timestamp($2::bigint), $3::bigint::smallint, $4, $5, $6, $7, $8, $9, $10, $11, $12,
        $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
ON CONFLICT (begins_at, minutes, shard, channel) DO UPDATE SET
    lag_ms = greatest(kept.lag_ms, excluded.lag_ms), delivered = kept.delivered + excluded.delivered,
    failed = kept.failed + excluded.failed, dead = kept.dead + excluded.dead,
    in_doubt = kept.in_doubt + excluded.in_doubt, deferred = kept.deferred + excluded.deferred,
    ms_10 = kept.ms_10 + excluded.ms_10, ms_25 = kept.ms_25 + excluded.ms_25, ms_50 = kept.ms_50 + excluded.ms_50,
    ms_100 = kept.ms_100 + excluded.ms_100, ms_250 = kept.ms_250 + excluded.ms_250,
    ms_500 = kept.ms_500 + excluded.ms_500, ms_1000 = kept.ms_1000 + excluded.ms_1000,
    ms_2500 = kept.ms_2500 + excluded.ms_2500, ms_5000 = kept.ms_5000 + excluded.ms_5000,
    ms_10000 = kept.ms_10000 + excluded.ms_10000, ms_60000 = kept.ms_60000 + excluded.ms_60000,
    ms_600000 = kept.ms_600000 + excluded.ms_600000, ms_3600000 = kept.ms_3600000 + excluded.ms_3600000,
    ms_more = kept.ms_more + excluded.ms_more

-- name: hour
-- The hour of the oldest minute, in seconds since 1970, where its last minute is old enough to be rolled up.
SELECT min(extract(epoch FROM begins_at)::bigint) / 3600 * 3600 AS begins_s FROM outbox_minute
WHERE minutes = 1 AND begins_at < to_timestamp((extract(epoch FROM now())::bigint - $1) / 3600 * 3600)

-- name: minutes
SELECT shard::bigint AS shard, extract(epoch FROM begins_at)::bigint AS at_s, channel, lag_ms, delivered, failed,
       dead, in_doubt, deferred, ms_10, ms_25, ms_50, ms_100, ms_250, ms_500, ms_1000, ms_2500, ms_5000, ms_10000,
       ms_60000, ms_600000, ms_3600000, ms_more
FROM outbox_minute WHERE minutes = 1 AND begins_at >= to_timestamp($1::bigint)
  AND begins_at < to_timestamp($1::bigint + 3600)
ORDER BY begins_at, shard, channel FOR UPDATE

-- name: minutes_delete
DELETE FROM outbox_minute WHERE minutes = 1 AND begins_at >= to_timestamp($1::bigint)
  AND begins_at < to_timestamp($1::bigint + 3600)

-- name: remove
DELETE FROM outbox_minute WHERE begins_at < now() - $1::bigint * interval '1 second'
