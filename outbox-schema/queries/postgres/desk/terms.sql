SELECT shard::integer AS shard, epoch, holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(ended_at) #>> '{}') AS ended_at, ended_because, claimed, delivered, failed, instance, version
FROM outbox_term_log l ORDER BY l.epoch DESC, l.shard LIMIT $1
