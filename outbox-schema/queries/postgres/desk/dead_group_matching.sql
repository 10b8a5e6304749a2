-- How many letters of one fingerprint meet other conditions: of all destinations, or of one. Looked for in the rows
-- themselves.
SELECT sum(letters)::bigint AS letters,
       coalesce(to_char(min(first_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(min(first_at)) #>> '{}') AS first_seen,
       coalesce(to_char(max(last_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(max(last_at)) #>> '{}') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
      AND ($5::text IS NULL OR position(lower($5) IN lower(last_error)) > 0)
      AND ($6::text IS NULL OR target = $6)
      AND ($7::text IS NULL OR starts_with(idempotency_key, $7))
      AND ($8::text IS NULL OR tags @> $8::jsonb)
      AND ($9::text IS NULL OR coalesce(tenant, destination) = $9)
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
      AND ($5::text IS NULL OR position(lower($5) IN lower(last_error)) > 0)
      AND ($6::text IS NULL OR target = $6)
      AND ($7::text IS NULL OR starts_with(idempotency_key, $7))
      AND ($8::text IS NULL OR tags @> $8::jsonb)
      AND ($9::text IS NULL OR coalesce(tenant, destination) = $9)
) grouped
