-- When the last letter of one fingerprint died, up to a moment.
SELECT (extract(epoch FROM max(dead_at)) * 1000000)::bigint AS last_us FROM outbox
WHERE status = 'DEAD' AND fingerprint = $1 AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $2::bigint * interval '1 microsecond'
