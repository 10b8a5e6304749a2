-- The newest term of a shard: since when, whether its end is noted, and when its replica was last seen.
SELECT TIMESTAMPDIFF(MICROSECOND, t.started_at, UTC_TIMESTAMP(6)) DIV 1000 AS started_ms,
       TIMESTAMPDIFF(MICROSECOND, l.ended_at, UTC_TIMESTAMP(6)) DIV 1000 AS ended_ms,
       TIMESTAMPDIFF(MICROSECOND, r.seen_at, UTC_TIMESTAMP(6)) DIV 1000 AS seen_ms,
       CAST(a.is_open AS SIGNED) AS is_open
FROM outbox_term t
LEFT JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch
LEFT JOIN outbox_replica r FORCE INDEX (PRIMARY) ON r.id = CONVERT(SUBSTRING_INDEX(t.holder, '.', 1) USING ascii)
CROSS JOIN outbox_alert a
WHERE t.shard = ? AND a.kind = 'no_poller'
