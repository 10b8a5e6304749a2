-- The terms behind the end of a page, the newest first, and when the next term of the same shard began.
SELECT shard, epoch, holder, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       DATE_FORMAT(ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at, ended_because, claimed, delivered, failed, instance, version,
       (SELECT DATE_FORMAT(n.started_at, '%Y-%m-%dT%H:%i:%s.%fZ') FROM outbox_term_log n
        WHERE n.shard = l.shard AND n.epoch > l.epoch ORDER BY n.epoch LIMIT 1) AS next_started_at
FROM outbox_term_log l
WHERE l.epoch <= ?1 AND (l.epoch < ?1 OR l.shard > ?2) AND (?3 IS NULL OR l.epoch = ?3)
ORDER BY l.epoch DESC, l.shard LIMIT ?4
