INSERT INTO outbox_destination (destination, ramp_from, last_sent_at)
VALUES (?, UTC_TIMESTAMP(6) - INTERVAL 1000 * ? MICROSECOND, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE ramp_from = VALUES(ramp_from), last_sent_at = VALUES(last_sent_at)
