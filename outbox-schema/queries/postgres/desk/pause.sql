INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
VALUES ($1, coalesce(now() + $2::bigint * interval '1 ms', '9999-12-31 00:00:00+00'), $3, 'hand', $4, now())
ON CONFLICT (destination) DO UPDATE
SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, pause_kind = excluded.pause_kind,
    reason = excluded.reason, by_hand_at = excluded.by_hand_at
