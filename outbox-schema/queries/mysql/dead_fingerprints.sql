-- Which there are, and when the last letter of each died up to then: read by the steps of a loose index scan.
SELECT fingerprint, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', MAX(dead_at)) AS last_us
FROM outbox FORCE INDEX (outbox_dead)
WHERE fingerprint IS NOT NULL AND dead_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ?1 MICROSECOND
GROUP BY fingerprint ORDER BY last_us DESC
