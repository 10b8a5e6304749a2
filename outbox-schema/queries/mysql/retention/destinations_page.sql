-- A stretch of what is kept of destinations, in the order of their names, from behind the first parameter: whether nothing of it has
-- been true for a day.
SELECT destination,
       CAST(GREATEST(COALESCE(paused_until, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(aside_until, TIMESTAMP'1000-01-01 00:00:00'),
                     COALESCE(ramp_from, TIMESTAMP'1000-01-01 00:00:00'), COALESCE(last_sent_at, TIMESTAMP'1000-01-01 00:00:00'),
                     COALESCE(by_hand_at, TIMESTAMP'1000-01-01 00:00:00')) < UTC_TIMESTAMP(6) - INTERVAL 1 DAY AS SIGNED) AS `over`
FROM outbox_destination WHERE destination > ? ORDER BY destination LIMIT ?
