-- Forgets these destinations, where still nothing of what is kept of them has been true for a day.
DELETE FROM outbox_destination
WHERE destination = ANY (ARRAY(SELECT json_array_elements_text($1::json)))
  AND coalesce(greatest(paused_until, aside_until, ramp_from, last_sent_at, by_hand_at), '-infinity') < now() - interval '1 day'
