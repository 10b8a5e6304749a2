-- The newest term of each shard, where nobody noted its end.
SELECT shard, epoch, holder,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch'), CAST(started_at AS TEXT)) AS started_at,
       CAST(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - started_at AS INTEGER) AS age_ms
FROM outbox_term t
WHERE EXISTS (SELECT 1 FROM outbox_term_log l WHERE l.shard = t.shard AND l.epoch = t.epoch AND l.ended_at IS NULL)
ORDER BY t.shard
