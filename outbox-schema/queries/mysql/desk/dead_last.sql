-- When the last letter of one fingerprint died, up to a moment.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', MAX(dead_at)) AS last_us FROM outbox FORCE INDEX (outbox_dead)
WHERE fingerprint = ?1 AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?2 MICROSECOND
