-- Of the newest entries below an id, those that are meant, the newest first. Entries of one message of an operation are left out
-- unless the message is named.
SELECT a.id, coalesce(to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(a.at) #>> '{}') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details::text AS details, a.part_of, a.message_id
FROM (SELECT * FROM outbox_audit l WHERE ($1::bigint IS NULL OR l.message_id = $1) AND ($2::bigint IS NULL OR l.id < $2)
      ORDER BY l.id DESC LIMIT $3) a
LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE ($1::bigint IS NOT NULL OR a.part_of IS NULL)
  AND ($4::bigint IS NULL OR a.at >= timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond')
  AND ($5::bigint IS NULL OR a.at <= timestamptz '1970-01-01 00:00:00+00' + $5::bigint * interval '1 microsecond')
  AND ($6::text IS NULL OR starts_with(a.who, $6)) AND ($7::text IS NULL OR a.action = $7)
ORDER BY a.id DESC LIMIT $8
