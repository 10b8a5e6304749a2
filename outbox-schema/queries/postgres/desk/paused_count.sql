SELECT count(*) AS total FROM outbox_destination WHERE paused_until > now()
