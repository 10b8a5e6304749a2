-- The hour of the oldest minute, in seconds since 1970, where its last minute is old enough to be rolled up.
SELECT min(begins_at) / 3600000 * 3600 AS begins_s FROM outbox_minute
WHERE minutes = 1 AND begins_at < (unixepoch() - ?1) / 3600 * 3600000
