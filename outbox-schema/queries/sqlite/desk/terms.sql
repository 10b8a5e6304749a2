SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch'), CAST(ended_at AS TEXT)) AS ended_at,
       ended_because, claimed, delivered, failed, instance, version
FROM outbox_term_log l ORDER BY l.epoch DESC, l.shard LIMIT ?1
