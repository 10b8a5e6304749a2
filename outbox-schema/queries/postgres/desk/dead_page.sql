-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Read from an index alone.
SELECT id, (extract(epoch FROM dead_at) * 1000000)::bigint AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
    UNION ALL
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
) page ORDER BY dead_at DESC, id DESC LIMIT $6
