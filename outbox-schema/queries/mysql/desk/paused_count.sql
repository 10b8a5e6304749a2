SELECT count(*) AS total FROM outbox_destination WHERE paused_until > UTC_TIMESTAMP(6)
