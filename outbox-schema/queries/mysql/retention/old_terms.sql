-- Of each shard, the terms in the log that are over 30 days old and not among its last 1,000: the first and the last epoch.
SELECT CAST(l.shard AS SIGNED) AS shard, MIN(l.epoch) AS first, MAX(l.epoch) AS last
FROM outbox_term_log l JOIN outbox_term t ON t.shard = l.shard
WHERE l.epoch <= t.epoch - 1000 AND l.started_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY
GROUP BY l.shard
