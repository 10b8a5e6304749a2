INSERT INTO outbox_destination (destination, ramp_from, last_sent_at)
VALUES (?1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - ?2, CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
ON CONFLICT (destination) DO UPDATE SET ramp_from = excluded.ramp_from, last_sent_at = excluded.last_sent_at
