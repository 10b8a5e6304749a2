-- A stretch of what is kept of destinations, in the order of their names, from behind the first parameter: whether nothing of it has
-- been true for a day.
SELECT destination,
       (coalesce(greatest(paused_until, aside_until, ramp_from, last_sent_at, by_hand_at), '-infinity')
        < now() - interval '1 day')::integer::bigint AS over
FROM outbox_destination WHERE destination > $1 ORDER BY destination LIMIT $2
