-- A shard that nobody has led yet has epoch 0.
SELECT shard::integer AS shard, epoch, holder, coalesce(to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(started_at) #>> '{}') AS started_at,
       (extract(epoch FROM now() - started_at) * 1000)::bigint AS age_ms
FROM outbox_term t WHERE t.epoch > 0 ORDER BY t.shard
