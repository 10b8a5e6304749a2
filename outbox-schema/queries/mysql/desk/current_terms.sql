-- A shard that nobody has led yet has epoch 0.
SELECT shard, epoch, holder, DATE_FORMAT(started_at, '%Y-%m-%dT%H:%i:%s.%fZ') AS started_at,
       TIMESTAMPDIFF(MICROSECOND, started_at, UTC_TIMESTAMP(6)) DIV 1000 AS age_ms
FROM outbox_term t WHERE t.epoch > 0 ORDER BY t.shard
