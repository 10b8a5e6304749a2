-- A stretch of what is kept of destinations, in the order of their names, from behind the first parameter: whether nothing of it has
-- been true for a day.
SELECT destination,
       max(coalesce(paused_until, 0), coalesce(aside_until, 0), coalesce(ramp_from, 0), coalesce(last_sent_at, 0),
           coalesce(by_hand_at, 0)) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 86400000 AS over
FROM outbox_destination WHERE destination > ?1 ORDER BY destination LIMIT ?2
