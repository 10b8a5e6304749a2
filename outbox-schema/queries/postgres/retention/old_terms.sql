-- Of each shard, the terms in the log that are over 30 days old and not among its last 1,000: the first and the last epoch.
SELECT l.shard::bigint AS shard, min(l.epoch) AS first, max(l.epoch) AS last
FROM outbox_term_log l JOIN outbox_term t ON t.shard = l.shard
WHERE l.epoch <= t.epoch - 1000 AND l.started_at < now() - interval '30 days'
GROUP BY l.shard
