-- The newest term of each shard, where nobody noted its end.
SELECT shard::integer AS shard, epoch, holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - started_at) * 1000)::bigint AS age_ms
FROM outbox_term t
WHERE EXISTS (SELECT 1 FROM outbox_term_log l WHERE l.shard = t.shard AND l.epoch = t.epoch AND l.ended_at IS NULL)
ORDER BY t.shard
