SELECT destination, by_hand_at AS stamp,
       CASE WHEN pause_kind = 'hand'
            THEN paused_until - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) END AS paused_ms
FROM outbox_destination WHERE by_hand_at > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - 60000
