SELECT l.shard::integer AS shard, l.epoch, l.holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(ended_at) #>> '{}') AS ended_at, ended_because, claimed, delivered, failed, instance, version
FROM (
    SELECT last.* FROM outbox_term t
    CROSS JOIN LATERAL (SELECT * FROM outbox_term_log n WHERE n.shard = t.shard ORDER BY n.epoch DESC LIMIT $1) last
) l
ORDER BY l.epoch DESC, l.shard LIMIT $1
