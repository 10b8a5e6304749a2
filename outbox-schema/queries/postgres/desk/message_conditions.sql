  -- The conditions of a filter of messages, behind which rows are looked at.
  AND ($2::text IS NULL OR o.status = $2) AND ($3::text IS NULL OR o.channel = $3)
  AND ($4::text IS NULL OR o.destination = $4) AND ($5::text IS NULL OR o.ordering_key = $5)
  AND ($6::bigint IS NULL OR o.priority = $6)
  AND ($7::bigint IS NULL
       OR o.created_at >= timestamptz '1970-01-01 00:00:00+00' + $7::bigint * interval '1 microsecond')
  AND ($8::bigint IS NULL
       OR o.created_at <= timestamptz '1970-01-01 00:00:00+00' + $8::bigint * interval '1 microsecond')
  AND ($10::text IS NULL OR o.target = $10)
  AND ($11::text IS NULL OR starts_with(o.idempotency_key, $11))
  AND ($12::text IS NULL OR o.tags @> $12::jsonb)
  AND ($13::text IS NULL OR coalesce(o.tenant, o.destination) = $13)
  AND ($14::text IS NULL OR position(lower($14) IN lower(o.last_error)) > 0)
ORDER BY o.id DESC LIMIT $9
