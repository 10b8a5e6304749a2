-- The letters of one fingerprint, the last that died first: of all destinations, or of one. Those that meet
-- other conditions are looked for in the rows themselves.
SELECT id, (extract(epoch FROM dead_at) * 1000000)::bigint AS dead_at_us FROM (
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
       AND ($7::text IS NULL OR position(lower($7) IN lower(last_error)) > 0)
       AND ($8::text IS NULL OR target = $8)
       AND ($9::text IS NULL OR starts_with(idempotency_key, $9))
       AND ($10::text IS NULL OR tags @> $10::jsonb)
       AND ($11::text IS NULL OR coalesce(tenant, destination) = $11)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
    UNION ALL
    (SELECT id, dead_at FROM outbox
     WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
       AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
       AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
       AND (dead_at < timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond' OR id < $5)
       AND ($7::text IS NULL OR position(lower($7) IN lower(last_error)) > 0)
       AND ($8::text IS NULL OR target = $8)
       AND ($9::text IS NULL OR starts_with(idempotency_key, $9))
       AND ($10::text IS NULL OR tags @> $10::jsonb)
       AND ($11::text IS NULL OR coalesce(tenant, destination) = $11)
     ORDER BY dead_at DESC, id DESC LIMIT $6)
) page ORDER BY dead_at DESC, id DESC LIMIT $6
