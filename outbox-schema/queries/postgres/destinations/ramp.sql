INSERT INTO outbox_destination (destination, ramp_from, last_sent_at)
VALUES ($1, now() - $2 * interval '1 ms', now())
ON CONFLICT (destination) DO UPDATE SET ramp_from = excluded.ramp_from, last_sent_at = excluded.last_sent_at
