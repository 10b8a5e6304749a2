SELECT shard, epoch, holder, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       DATE_FORMAT(ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at, ended_because, claimed, delivered, failed, instance, version
FROM outbox_term_log l ORDER BY l.epoch DESC, l.shard LIMIT ?
