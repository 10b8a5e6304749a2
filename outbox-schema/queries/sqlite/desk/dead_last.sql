-- When the last letter of one fingerprint died, up to a moment.
SELECT max(dead_at) * 1000 AS last_us FROM outbox INDEXED BY outbox_dead
WHERE status = 'DEAD' AND fingerprint = ?1 AND dead_at <= ?2 / 1000
