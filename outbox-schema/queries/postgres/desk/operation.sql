SELECT a.id, coalesce(to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(a.at) #>> '{}') AS at, a.who, a.action, a.why,
       a.details::text AS details, a.part_of
FROM outbox_audit a WHERE a.id = $1
