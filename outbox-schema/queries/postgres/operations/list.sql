-- Operations below an id, the newest first.
SELECT o.id, o.action, a.who, a.why, a.details::text AS details, o.status, o.meant, o.done, o.changed,
       coalesce(to_char(o.began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.began_at) #>> '{}') AS began_at,
       coalesce(to_char(o.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(o.ended_at) #>> '{}') AS ended_at,
       (extract(epoch FROM coalesce(o.ended_at, clock_timestamp()) - o.began_at) * 1000)::bigint AS lasted_ms,
       CASE WHEN o.status = 'open' AND (o.carried_until IS NULL OR o.carried_until < clock_timestamp()) THEN 1::bigint ELSE 0::bigint END AS waits,
       o.failure
FROM outbox_operation o
LEFT JOIN outbox_audit a ON a.id = o.id
WHERE ($1::bigint IS NULL OR o.id < $1)
ORDER BY o.id DESC LIMIT $2
