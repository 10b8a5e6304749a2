-- The terms that a message has to do with: those of its attempts, the one that led when it was finished, the newest.
SELECT l.shard, l.epoch, l.holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', l.started_at / 1000.0, 'unixepoch'), CAST(l.started_at AS TEXT)) AS started_at,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', l.ended_at / 1000.0, 'unixepoch'), CAST(l.ended_at AS TEXT)) AS ended_at,
       l.ended_because, l.claimed, l.delivered, l.failed, l.instance, l.version
FROM outbox o JOIN outbox_term_log l ON l.shard = o.shard
WHERE o.id = ?1 AND l.epoch IN (
    SELECT a.epoch FROM outbox_attempt a WHERE a.message_id = ?1
    UNION
    SELECT * FROM (
        SELECT e.epoch FROM outbox f JOIN outbox_term_log e ON e.shard = f.shard
        WHERE f.id = ?1 AND e.started_at <= f.finished_at ORDER BY e.epoch DESC LIMIT 1)
    UNION
    SELECT t.epoch FROM outbox f JOIN outbox_term t ON t.shard = f.shard WHERE f.id = ?1
)
ORDER BY l.epoch
