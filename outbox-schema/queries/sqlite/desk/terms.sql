-- The terms behind the end of a page, the newest first, and when the next term of the same shard began.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch'), CAST(ended_at AS TEXT)) AS ended_at,
       ended_because, claimed, delivered, failed, instance, version,
       (SELECT coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', n.started_at / 1000.0, 'unixepoch'), CAST(n.started_at AS TEXT)) FROM outbox_term_log n
        WHERE n.shard = l.shard AND n.epoch > l.epoch ORDER BY n.epoch LIMIT 1) AS next_started_at
FROM outbox_term_log l
WHERE l.epoch <= ?1 AND (l.epoch < ?1 OR l.shard > ?2) AND (?3 IS NULL OR l.epoch = ?3)
ORDER BY l.epoch DESC, l.shard LIMIT ?4
