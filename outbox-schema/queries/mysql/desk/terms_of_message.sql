-- The terms that a message has to do with: those of its attempts, the one that led when it was finished, the newest.
SELECT l.shard, l.epoch, l.holder, DATE_FORMAT(l.started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       DATE_FORMAT(l.ended_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS ended_at, l.ended_because, l.claimed, l.delivered, l.failed, l.instance, l.version
FROM (
    SELECT a.epoch FROM outbox_attempt a WHERE a.message_id = ?1
    UNION
    (SELECT e.epoch FROM outbox o STRAIGHT_JOIN outbox_term_log e ON e.shard = o.shard
     WHERE o.id = ?1 AND e.started_at <= o.finished_at ORDER BY e.epoch DESC LIMIT 1)
    UNION
    SELECT t.epoch FROM outbox o JOIN outbox_term t ON t.shard = o.shard WHERE o.id = ?1
) meant
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = ?1
STRAIGHT_JOIN outbox_term_log l ON l.shard = o.shard AND l.epoch = meant.epoch
ORDER BY l.epoch
