INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
VALUES (?1, COALESCE(UTC_TIMESTAMP(6) + INTERVAL 1000 * ?2 MICROSECOND, TIMESTAMP'9999-12-31 00:00:00'), ?3, 'hand', ?4,
        UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
    paused_until = VALUES(paused_until), paused_by = VALUES(paused_by), pause_kind = VALUES(pause_kind),
    reason = VALUES(reason), by_hand_at = VALUES(by_hand_at)
