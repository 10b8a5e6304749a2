-- Forgets these destinations, where still nothing of what is kept of them has been true for a day.
DELETE FROM outbox_destination
WHERE destination IN (SELECT value FROM json_each(?1))
  AND max(coalesce(paused_until, 0), coalesce(aside_until, 0), coalesce(ramp_from, 0), coalesce(last_sent_at, 0),
          coalesce(by_hand_at, 0)) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 86400000
