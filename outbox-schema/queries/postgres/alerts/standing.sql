-- The newest term of a shard: since when, whether its end is noted, and when its replica was last seen.
SELECT (extract(epoch FROM clock_timestamp() - t.started_at) * 1000)::bigint AS started_ms,
       (extract(epoch FROM clock_timestamp() - l.ended_at) * 1000)::bigint AS ended_ms,
       (extract(epoch FROM clock_timestamp() - r.seen_at) * 1000)::bigint AS seen_ms,
       a.is_open::bigint AS is_open
FROM outbox_term t
LEFT JOIN outbox_term_log l ON l.shard = t.shard AND l.epoch = t.epoch
LEFT JOIN outbox_replica r ON r.id = split_part(t.holder, '.', 1)
CROSS JOIN outbox_alert a
WHERE t.shard = $1::bigint AND a.kind = 'no_poller'
