-- The reason of an operation stands in its own entry.
SELECT a.id, coalesce(to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(a.at) #>> '{}') AS at, a.who, a.action,
       coalesce(a.why, whole.why) AS why, a.details::text AS details, a.part_of
FROM outbox_audit a LEFT JOIN outbox_audit whole ON whole.id = a.part_of
WHERE a.message_id = $1 ORDER BY a.id
