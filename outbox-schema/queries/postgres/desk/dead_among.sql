-- Of the messages named, the dead letters that meet the conditions.
SELECT o.id, (extract(epoch FROM o.dead_at) * 1000000)::bigint AS dead_at_us, o.fingerprint
FROM outbox o
WHERE o.id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint)) AND o.status = 'DEAD'
  AND ($2::text IS NULL OR o.destination = $2)
  AND o.dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
  AND o.dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
  AND ($5::text IS NULL OR position(lower($5) IN lower(o.last_error)) > 0)
  AND ($6::text IS NULL OR o.target = $6)
  AND ($7::text IS NULL OR starts_with(o.idempotency_key, $7))
  AND ($8::text IS NULL OR o.tags @> $8::jsonb)
  AND ($9::text IS NULL OR coalesce(o.tenant, o.destination) = $9)
