SELECT shard::integer AS shard, epoch, holder, to_json(started_at) #>> '{}' AS started_at,
       to_json(ended_at) #>> '{}' AS ended_at, ended_because, claimed, delivered, failed, instance, version
FROM outbox_term_log l ORDER BY l.epoch DESC, l.shard LIMIT $1
