-- The hour of the oldest minute, in seconds since 1970, where its last minute is old enough to be rolled up.
SELECT MIN(TIMESTAMPDIFF(SECOND, '1970-01-01', begins_at)) DIV 3600 * 3600 AS begins_s FROM outbox_minute
WHERE minutes = 1 AND begins_at < TIMESTAMPADD(
    SECOND, (TIMESTAMPDIFF(SECOND, '1970-01-01', UTC_TIMESTAMP()) - ?1) DIV 3600 * 3600, '1970-01-01')
