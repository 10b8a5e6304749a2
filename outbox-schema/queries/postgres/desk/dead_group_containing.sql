-- How many letters of one fingerprint contain a text: of all destinations, or of one. Looked for in the rows themselves.
SELECT sum(letters)::bigint AS letters,
       coalesce(to_char(min(first_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(min(first_at)) #>> '{}') AS first_seen,
       coalesce(to_char(max(last_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(max(last_at)) #>> '{}') AS last_seen, max(example) AS example
FROM (
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND $2::text IS NULL
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
      AND position(lower($5) IN lower(last_error)) > 0
    UNION ALL
    SELECT count(*) AS letters, min(dead_at) AS first_at, max(dead_at) AS last_at, max(id) AS example
    FROM outbox
    WHERE status = 'DEAD' AND fingerprint = $1 AND destination = $2
      AND dead_at >= timestamptz '1970-01-01 00:00:00+00' + $3::bigint * interval '1 microsecond'
      AND dead_at <= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond'
      AND position(lower($5) IN lower(last_error)) > 0
) grouped
