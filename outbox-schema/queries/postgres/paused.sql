SELECT destination, (extract(epoch FROM paused_until - now()) * 1000)::bigint AS remaining_ms
FROM outbox_destination WHERE paused_until > now()
